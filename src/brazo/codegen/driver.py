"""The control flow of the least-squares solver as LLVM IR; the arithmetic is lowered from graphs.

    search   from x0, then from random points of a sampling box, until one attempt succeeds:
             take full steps with damping mu * cost, uphill too (that is what leaves shallow
             minima); give an attempt up after ``iterations`` steps, or when ``patience`` steps have
             not reduced the cost below ``stall`` times what it was;
    finish   a solution takes one more step, which squares its residual, if that is an improvement;
    polish   if every attempt failed, the best point seen descends monotonically (damping down by 3
             after a success, up by 4 after a failure) to a minimum inside the limits, until no
             damping yields descent or ``polish`` steps are done.

Every point evaluated is projected into the limits, so no result is outside them. Random
points come from splitmix64 seeded by the caller: the same seed gives the same result, in any batch.

Memory of a problem, all doubles: ``settings`` and ``info`` as named below, ``box`` and ``sample``
lower limits then upper ones.
"""

from __future__ import annotations

from brazo.codegen.emitter import hex_double

__all__ = ["INFO", "SETTINGS", "driver_functions"]

SETTINGS = ("tol_first", "tol_rest", "mu", "stall", "iterations", "attempts", "patience", "polish")
INFO = ("status", "cost", "first", "rest", "iterations", "attempts")  # first, rest: squared norms

_TEMPLATE = """
define internal void @NAME_copy(ptr %to, ptr %from) #0 {
entry:
  br label %loop
loop:
  %j = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = getelementptr double, ptr %from, i64 %j
  %b = getelementptr double, ptr %to, i64 %j
  %v = load double, ptr %a
  store double %v, ptr %b
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, SIZE
  br i1 %more, label %loop, label %done
done:
  ret void
}

; x = sample_lower + u * (sample_upper - sample_lower), u from splitmix64
define internal void @NAME_random(ptr %state, ptr %sample, ptr %x) #0 {
entry:
  %upper = getelementptr double, ptr %sample, i64 SIZE
  br label %loop
loop:
  %j = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s0 = load i64, ptr %state
  %s = add i64 %s0, -7046029254386353131
  store i64 %s, ptr %state
  %h0 = lshr i64 %s, 30
  %h1 = xor i64 %s, %h0
  %h2 = mul i64 %h1, -4658895280553007687
  %h3 = lshr i64 %h2, 27
  %h4 = xor i64 %h2, %h3
  %h5 = mul i64 %h4, -7723592293110705685
  %h6 = lshr i64 %h5, 31
  %h7 = xor i64 %h5, %h6
  %h8 = lshr i64 %h7, 11
  %h9 = uitofp i64 %h8 to double
  %u = fmul double %h9, TWO_TO_MINUS_53
  %lp = getelementptr double, ptr %sample, i64 %j
  %hp = getelementptr double, ptr %upper, i64 %j
  %xp = getelementptr double, ptr %x, i64 %j
  %l = load double, ptr %lp
  %h = load double, ptr %hp
  %range = fsub double %h, %l
  %part = fmul double %u, %range
  %v = fadd double %l, %part
  store double %v, ptr %xp
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, SIZE
  br i1 %more, label %loop, label %done
done:
  ret void
}

; both squared norms within their tolerances; false for NaN
define internal i1 @NAME_good(ptr %norms, ptr %settings) #0 {
  %fp = getelementptr double, ptr %norms, i64 1
  %rp = getelementptr double, ptr %norms, i64 2
  %tp = getelementptr double, ptr %settings, i64 1
  %f = load double, ptr %fp
  %r = load double, ptr %rp
  %tf = load double, ptr %settings
  %tr = load double, ptr %tp
  %tf2 = fmul double %tf, %tf
  %tr2 = fmul double %tr, %tr
  %a = fcmp ole double %f, %tf2
  %b = fcmp ole double %r, %tr2
  %both = and i1 %a, %b
  ret i1 %both
}

define void @NAME_solve(ptr %p, ptr %x0, ptr %box, ptr %sample, ptr %settings, i64 %seed,
                        ptr %x, ptr %info) #0 {
entry:
  %state = alloca i64
  %mu = alloca double
  %best = alloca double
  %checkpoint = alloca double
  %count = alloca double
  %attempt = alloca double
  %step = alloca double
  %waited = alloca double
  %z = alloca [SIZE x double]
  %y = alloca [SIZE x double]
  %w = alloca [SIZE x double]
  %norms = alloca [3 x double]
  %trial = alloca [3 x double]
  %p_mu = getelementptr double, ptr %settings, i64 2
  %p_stall = getelementptr double, ptr %settings, i64 3
  %p_iterations = getelementptr double, ptr %settings, i64 4
  %p_attempts = getelementptr double, ptr %settings, i64 5
  %p_patience = getelementptr double, ptr %settings, i64 6
  %p_polish = getelementptr double, ptr %settings, i64 7
  %mu0 = load double, ptr %p_mu
  %stall = load double, ptr %p_stall
  %iterations = load double, ptr %p_iterations
  %attempts = load double, ptr %p_attempts
  %patience = load double, ptr %p_patience
  %polish = load double, ptr %p_polish
  store i64 %seed, ptr %state
  store double %mu0, ptr %mu
  store double INFINITY, ptr %best
  store double 0.0, ptr %count
  store double 0.0, ptr %attempt
  %flag = call double @NAME_begin(ptr %x0, ptr %p, ptr %box, ptr %z)
  call void @NAME_copy(ptr %x, ptr %z)
  %bad = fcmp uno double %flag, %flag
  br i1 %bad, label %refused, label %next_attempt

refused:
  store double -1.0, ptr %info
  ret void

next_attempt:
  %a0 = load double, ptr %attempt
  %exhausted = fcmp oge double %a0, %attempts
  br i1 %exhausted, label %start_polish, label %choose_start
choose_start:
  %a1 = fadd double %a0, 1.0
  store double %a1, ptr %attempt
  store double 0.0, ptr %step
  store double 0.0, ptr %waited
  store double INFINITY, ptr %checkpoint
  %first_attempt = fcmp oeq double %a0, 0.0
  br i1 %first_attempt, label %iterate, label %random_start
random_start:
  call void @NAME_random(ptr %state, ptr %sample, ptr %y)
  %ignored = call double @NAME_begin(ptr %y, ptr %p, ptr %box, ptr %z)
  br label %iterate

iterate:
  call double @NAME_step(ptr %z, ptr %p, ptr %mu, ptr %box, ptr %y, ptr %norms)
  %c0 = load double, ptr %count
  %c1 = fadd double %c0, 1.0
  store double %c1, ptr %count
  %good = call i1 @NAME_good(ptr %norms, ptr %settings)
  br i1 %good, label %finish, label %compare
compare:
  %cost = load double, ptr %norms
  %best0 = load double, ptr %best
  %better = fcmp olt double %cost, %best0
  br i1 %better, label %remember, label %advance
remember:
  store double %cost, ptr %best
  call void @NAME_copy(ptr %x, ptr %z)
  br label %advance
advance:
  call void @NAME_copy(ptr %z, ptr %y)
  %s0 = load double, ptr %step
  %s1 = fadd double %s0, 1.0
  store double %s1, ptr %step
  %spent = fcmp oge double %s1, %iterations
  br i1 %spent, label %next_attempt, label %wait
wait:
  %w0 = load double, ptr %waited
  %w1 = fadd double %w0, 1.0
  store double %w1, ptr %waited
  %due = fcmp oge double %w1, %patience
  br i1 %due, label %check, label %iterate
check:
  %old = load double, ptr %checkpoint
  %bar = fmul double %old, %stall
  store double 0.0, ptr %waited
  store double %cost, ptr %checkpoint
  %moving = fcmp ole double %cost, %bar
  br i1 %moving, label %iterate, label %next_attempt

finish:
  call void @NAME_copy(ptr %x, ptr %z)
  call double @NAME_step(ptr %y, ptr %p, ptr %mu, ptr %box, ptr %w, ptr %trial)
  %still_good = call i1 @NAME_good(ptr %trial, ptr %settings)
  %cost_z = load double, ptr %norms
  %cost_y = load double, ptr %trial
  %lower = fcmp olt double %cost_y, %cost_z
  %take = and i1 %still_good, %lower
  br i1 %take, label %take_last, label %solved
take_last:
  call void @NAME_copy(ptr %x, ptr %y)
  call void @NAME_report(ptr %info, ptr %trial, double 1.0, ptr %count, ptr %attempt)
  ret void
solved:
  call void @NAME_report(ptr %info, ptr %norms, double 1.0, ptr %count, ptr %attempt)
  ret void

; x is the best point seen; y the trial that leads on from it
start_polish:
  store double %mu0, ptr %mu
  store double 0.0, ptr %step
  call double @NAME_step(ptr %x, ptr %p, ptr %mu, ptr %box, ptr %y, ptr %norms)
  br label %polish_next
polish_next:
  %q0 = load double, ptr %step
  %q1 = fadd double %q0, 1.0
  store double %q1, ptr %step
  %enough = fcmp ogt double %q1, %polish
  br i1 %enough, label %failed, label %polish_step
polish_step:
  call double @NAME_step(ptr %y, ptr %p, ptr %mu, ptr %box, ptr %w, ptr %trial)
  %d0 = load double, ptr %count
  %d1 = fadd double %d0, 1.0
  store double %d1, ptr %count
  %here = load double, ptr %norms
  %there = load double, ptr %trial
  %descends = fcmp olt double %there, %here
  br i1 %descends, label %accept, label %reject
accept:
  call void @NAME_copy(ptr %x, ptr %y)
  %first_p = getelementptr double, ptr %trial, i64 1
  %rest_p = getelementptr double, ptr %trial, i64 2
  %first_v = load double, ptr %first_p
  %rest_v = load double, ptr %rest_p
  %to_first = getelementptr double, ptr %norms, i64 1
  %to_rest = getelementptr double, ptr %norms, i64 2
  store double %there, ptr %norms
  store double %first_v, ptr %to_first
  store double %rest_v, ptr %to_rest
  %solved_after_all = call i1 @NAME_good(ptr %norms, ptr %settings)
  br i1 %solved_after_all, label %solved, label %onward
onward:
  %m0 = load double, ptr %mu
  %m1 = fmul double %m0, ONE_THIRD
  store double %m1, ptr %mu
  call void @NAME_copy(ptr %y, ptr %w)
  br label %polish_next
reject:
  %m2 = load double, ptr %mu
  %m3 = fmul double %m2, 4.0
  store double %m3, ptr %mu
  %hopeless = fcmp ogt double %m3, MOST_DAMPING
  br i1 %hopeless, label %failed, label %again
again:
  call double @NAME_step(ptr %x, ptr %p, ptr %mu, ptr %box, ptr %y, ptr %trial)
  br label %polish_next
failed:
  call void @NAME_report(ptr %info, ptr %norms, double 0.0, ptr %count, ptr %attempt)
  ret void
}

define internal void @NAME_report(ptr %info, ptr %norms, double %status, ptr %count,
                                  ptr %attempt) #0 {
  %p1 = getelementptr double, ptr %info, i64 1
  %p2 = getelementptr double, ptr %info, i64 2
  %p3 = getelementptr double, ptr %info, i64 3
  %p4 = getelementptr double, ptr %info, i64 4
  %p5 = getelementptr double, ptr %info, i64 5
  %n1 = getelementptr double, ptr %norms, i64 1
  %n2 = getelementptr double, ptr %norms, i64 2
  %c = load double, ptr %norms
  %f = load double, ptr %n1
  %r = load double, ptr %n2
  %i = load double, ptr %count
  %a = load double, ptr %attempt
  store double %status, ptr %info
  store double %c, ptr %p1
  store double %f, ptr %p2
  store double %r, ptr %p3
  store double %i, ptr %p4
  store double %a, ptr %p5
  ret void
}

define void @NAME_solve_many(i64 %rows, ptr %p, i64 %p_step, ptr %x0, i64 %x0_step, ptr %box,
                             ptr %sample, ptr %settings, i64 %seed, ptr %x, ptr %info) #0 {
entry:
  br label %test
test:
  %k = phi i64 [ 0, %entry ], [ %next, %row ]
  %more = icmp slt i64 %k, %rows
  br i1 %more, label %row, label %done
row:
  %a = mul i64 %k, %p_step
  %b = mul i64 %k, %x0_step
  %c = mul i64 %k, SIZE
  %d = mul i64 %k, INFO_SIZE
  %pk = getelementptr double, ptr %p, i64 %a
  %x0k = getelementptr double, ptr %x0, i64 %b
  %xk = getelementptr double, ptr %x, i64 %c
  %ik = getelementptr double, ptr %info, i64 %d
  call void @NAME_solve(ptr %pk, ptr %x0k, ptr %box, ptr %sample, ptr %settings, i64 %seed,
                        ptr %xk, ptr %ik)
  %next = add i64 %k, 1
  br label %test
done:
  ret void
}
"""


def driver_functions(name: str, size: int) -> str:
    """IR of ``name_solve`` and ``name_solve_many`` for ``size`` unknowns.

    They call ``name_step(x, p, mu, box, y, norms)`` and ``name_begin(x, p, box, y)``, which the
    caller lowers from graphs.
    """
    words = {
        "NAME": name,
        "INFO_SIZE": str(len(INFO)),
        "SIZE": str(size),
        "TWO_TO_MINUS_53": hex_double(2.0**-53),
        "INFINITY": hex_double(float("inf")),
        "MOST_DAMPING": hex_double(1e9),
        "ONE_THIRD": hex_double(1.0 / 3.0),
    }
    text = _TEMPLATE
    for word, value in words.items():
        text = text.replace(word, value)
    return text
