// Colours of a line of a program file, and the words that can come next at a place in it.

const TOKEN = new RegExp(
  [
    "(?<comment>(?<=^|\\s)#.*$)",
    "(?<string>\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^']|'')*')",
    "(?<variable>\\$\\w+)",
    "(?<key>(?<=^\\s*(?:-\\s+)?|[{,]\\s*)[A-Za-z_][\\w-]*(?: [\\w-]+){0,2}(?=\\s*:(?:\\s|$)))",
    "(?<number>(?<=[:,[{]\\s*)[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?\\s?(?:[a-zA-Z%]+(?:/s)?)?(?=\\s*(?:[,\\]}#]|$)))",
    "(?<word>\\b(?:on|off|true|false|null)\\b)",
  ].join("|"),
  "g",
);

// [[kind, text], …] of one line; kind is "" for plain text, "verb" for the key of a step.
export function tokens(line, verbs) {
  const found = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > at) found.push(["", line.slice(at, match.index)]);
    let kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind === "key" && match[0] in verbs && /^\s*-\s*$/.test(line.slice(0, match.index))) kind = "verb";
    found.push([kind, match[0]]);
    at = match.index + match[0].length;
    if (kind === "comment") break;
  }
  if (at < line.length) found.push(["", line.slice(at)]);
  return found;
}

// The verb of the step around a line, from the lines above it.
function verbAbove(lines, i, verbs) {
  const indent = (line) => line.search(/\S/);
  let depth = indent(lines[i]) < 0 ? lines[i].length : indent(lines[i]);
  for (let k = i; k >= 0; k--) {
    const found = lines[k].match(/^(\s*)-\s*(\w+)\s*:/);
    if (k < i && lines[k].trim() && indent(lines[k]) < depth) depth = indent(lines[k]);
    if (found && found[1].length <= depth && found[2] in verbs) return found[2];
    if (k < i && /^\S/.test(lines[k])) return "";
  }
  return "";
}

// What can be typed at the end of `before`, the text up to the caret: { partial, options }, options
// being [{ word, insert }].
export function suggestions(before, words) {
  const none = { partial: "", options: [] };
  if (!words) return none;
  const lines = before.split("\n");
  const i = lines.length - 1;
  const line = lines[i];
  if (/(^|\s)#/.test(line)) return none;
  const fields = (names, partial) => ({ partial, options: names.map((word) => ({ word, insert: `${word}: ` })) });
  const values = (key, partial) => ({
    partial,
    options: (words.values[key] ?? []).map((word) => ({ word, insert: word })),
  });
  let found = line.match(/^(\w*)$/);
  if (found) return fields(words.top, found[1]);
  found = line.match(/^\s*-\s+(\w*)$/);
  if (found) return fields(Object.keys(words.verbs), found[1]);
  const verb = verbAbove(lines, i, words.verbs);
  const open = line.lastIndexOf("{");
  if (open > line.lastIndexOf("}")) {
    const part = line.slice(open + 1).split(",").at(-1);
    found = part.match(/^\s*(\w+)\s*:\s*([^,]*)$/);
    if (found) return values(found[1], found[2]);
    found = part.match(/^\s*(\w*)$/);
    return found ? fields(words.verbs[verb] ?? [], found[1]) : none;
  }
  found = line.match(/^\s*(?:-\s+)?(\w+)\s*:\s+(.*)$/);
  if (found) return values(found[1], found[2]);
  found = line.match(/^\s+(\w*)$/);
  if (!found) return none;
  const above = lines.slice(0, i).findLast((one) => /^\S/.test(one)) ?? "";
  const indent = line.search(/\S|$/);
  if (!verb && /^robots\s*:/.test(above)) {
    return { partial: found[1], options: words.robots.map((word) => ({ word, insert: `${word}:` })) };
  }
  return indent > 4 ? fields(words.verbs[verb] ?? [], found[1]) : none;
}
