// Writes encoded frames to a WebM file with duration and cues, so that players can seek in it.
// (Files recorded by browsers have neither.)
//
// A file is a tree of elements: id, length, content.  One cluster begins at every key frame; the
// cues before them contain the positions.  Times are milliseconds.

const MILLISECOND = 1_000_000; // ns, the unit of all times

// chunks: [{ time (ms), key (bool), data (Uint8Array) }], in order, the first one a key frame.
export function webm(codec, width, height, duration, chunks) {
  const head = element(0x1a45dfa3, [
    element(0x4286, uint(1)), // version
    element(0x42f7, uint(1)),
    element(0x42f2, uint(4)), // bytes of an id
    element(0x42f3, uint(8)), // bytes of a length
    element(0x4282, text("webm")),
    element(0x4287, uint(2)),
    element(0x4285, uint(2)),
  ]);
  const info = element(0x1549a966, [
    element(0x2ad7b1, uint(MILLISECOND)),
    element(0x4489, float(duration)),
    element(0x4d80, text("brazo")),
    element(0x5741, text("brazo")),
  ]);
  const tracks = element(0x1654ae6b, [
    element(0xae, [
      element(0xd7, uint(1)), // number
      element(0x73c5, uint(1)),
      element(0x83, uint(1)), // video
      element(0x9c, uint(0)), // one frame per block
      element(0x86, text(codec)),
      element(0xe0, [element(0xb0, uint(width)), element(0xba, uint(height))]),
    ]),
  ]);
  const groups = [];
  for (const chunk of chunks) {
    if (chunk.key) groups.push([]);
    groups.at(-1).push(chunk);
  }
  const clusters = groups.map(([first, ...rest]) =>
    element(0x1f43b675, [
      element(0xe7, uint(first.time)),
      ...[first, ...rest].map((chunk) => element(0xa3, [blockHeader(chunk, first.time), chunk.data])),
    ]),
  );
  // Numbers of fixed size: the length of the cues must not depend on their values.
  const cuesAt = (positions) =>
    element(0x1c53bb6b, groups.map(([first], i) =>
      element(0xbb, [
        element(0xb3, uint(first.time)),
        element(0xb7, [element(0xf7, uint(1)), element(0xf1, uint(positions[i]))]),
      ]),
    ));
  let at = size(info) + size(tracks) + size(cuesAt(groups.map(() => 0)));
  const positions = clusters.map((cluster) => {
    at += size(cluster);
    return at - size(cluster);
  });
  const segment = element(0x18538067, [info, tracks, cuesAt(positions), ...clusters]);
  return new Blob([...flat([head, segment])], { type: "video/webm" });
}

// Header of a block: track, time relative to the cluster, whether it is a key frame.
function blockHeader(chunk, begin) {
  const after = Math.round(chunk.time) - Math.round(begin);
  return new Uint8Array([0x81, (after >> 8) & 0xff, after & 0xff, chunk.key ? 0x80 : 0]);
}

function element(id, content) {
  const inside = [content].flat();
  return [bytes(id), length(inside.reduce((sum, part) => sum + size(part), 0)), ...inside];
}

function size(part) {
  return Array.isArray(part) ? part.reduce((sum, one) => sum + size(one), 0) : part.byteLength;
}

function* flat(parts) {
  for (const part of parts) {
    if (Array.isArray(part)) yield* flat(part);
    else yield part;
  }
}

function bytes(value) {
  const found = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) found.unshift(rest % 256);
  return new Uint8Array(found);
}

function eight(write) {
  const view = new DataView(new ArrayBuffer(8));
  write(view);
  return new Uint8Array(view.buffer);
}

function uint(value) {
  return eight((view) => view.setBigUint64(0, BigInt(Math.round(value))));
}

function float(value) {
  return eight((view) => view.setFloat64(0, value));
}

function text(value) {
  return new TextEncoder().encode(value);
}

function length(value) {
  const written = uint(value);
  written[0] = 1; // seven bytes follow
  return written;
}
