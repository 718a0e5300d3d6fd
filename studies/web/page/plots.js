"use strict";
// Plots as SVG. Nothing here knows of the server.

const svgNS = "http://www.w3.org/2000/svg";

function el(name, attrs = {}, ...children) {
  const e = document.createElementNS(svgNS, name);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

function titled(e, text) { e.append(el("title", {}, text)); return e; }

// short is a number in at most about six characters.
function short(x) {
  if (typeof x === "string") return x;
  if (x === null || x === undefined) return "";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "+inf" : "-inf";
  const a = Math.abs(x);
  if (a !== 0 && (a < 1e-3 || a >= 1e6)) return x.toExponential(2).replace(/\.?0+e/, "e");
  return String(+x.toPrecision(4));
}

// scale maps [low, high] to [from, to].
function scale(low, high, from, to, log) {
  const f = log ? Math.log : x => x;
  const a = f(low), b = f(high);
  return x => b === a ? (from + to) / 2 : from + (f(x) - a) / (b - a) * (to - from);
}

// exact is a tick in all its digits: two ticks of an axis never read the same.
function exact(x) {
  const a = Math.abs(x);
  return a !== 0 && (a < 1e-3 || a >= 1e7) ? x.toExponential() : String(x);
}

// ticks are about n round numbers between bounds, least apart or more.
function ticks(low, high, n, least = 0) {
  if (!(high > low)) return [low];
  const raw = Math.max((high - low) / n, least), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find(m => m * power >= raw) * power;
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(+(i * step).toPrecision(12));
  return out;
}

// limits of what is drawn: where a few values lie far out, those of the most; best always stays in sight.
function limits(values, best) {
  const s = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!s.length) return null;
  let low = s[0], high = s[s.length - 1];
  const q = p => s[Math.round(p * (s.length - 1))];
  if (s.length >= 20) {
    const a = q(.06), b = q(.94), spread = b - a || Math.abs(b) || 1;
    if (a - low > 2 * spread) low = a - spread * .3;
    if (high - b > 2 * spread) high = b + spread * .3;
  }
  if (Number.isFinite(best)) { low = Math.min(low, best); high = Math.max(high, best); }
  const pad = (high - low || Math.abs(high) || 1) * .05;
  return [low - pad, high + pad];
}

// frame is an SVG with axes; it gives what draws in it. x counts trials, steps or generations, so its ticks are whole:
// apart or more from each other.
function frame(width, height, [x0, x1], [y0, y1], xName, yName, apart = 1) {
  const left = 62, right = 14, top = 8, bottom = 34;
  const x = scale(x0, x1, left, width - right), y = scale(y0, y1, height - bottom, top);
  const root = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const t of ticks(y0, y1, 5)) {
    root.append(el("line", { class: "axis", x1: left, x2: width - right, y1: y(t), y2: y(t) }), el("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, exact(t)));
  }
  for (const t of ticks(x0, x1, width / 110, apart)) root.append(el("text", { x: x(t), y: height - bottom + 15, "text-anchor": "middle" }, exact(t)));
  root.append(el("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, xName),
    el("text", { x: 12, y: (height - bottom + top) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(height - bottom + top) / 2})` }, yName));
  return { root, x, y: v => Math.min(height - bottom, Math.max(top, y(v))), bottom: height - bottom, outside: v => v < y0 || v > y1 };
}

// trace is the path of a curve in a frame. What is no finite number is a gap; a point alone is a dash.
function trace(f, xs, ys) {
  const drawn = i => Number.isFinite(ys[i]);
  let d = "";
  xs.forEach((x, i) => {
    if (!drawn(i)) return;
    d += `${drawn(i - 1) ? "L" : "M"}${f.x(x).toFixed(1)} ${f.y(ys[i]).toFixed(1)}`;
    if (!drawn(i - 1) && !drawn(i + 1)) d += "h4";
  });
  return d;
}

function key(entries) {
  const e = document.createElement("div");
  e.className = "key";
  for (const [mark, text] of entries) {
    const s = document.createElement("span"), i = el("svg", { viewBox: "0 0 14 12" }, mark);
    s.append(i, text);
    e.append(s);
  }
  return e;
}

const marks = {
  complete: (x, y) => el("circle", { class: "complete", cx: x, cy: y, r: 3.2 }),
  pruned: (x, y) => el("rect", { class: "pruned", x: x - 2.6, y: y - 2.6, width: 5.2, height: 5.2 }),
  failed: (x, y) => el("path", { class: "failed", d: `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` }),
  running: (x, y) => el("circle", { class: "running", cx: x, cy: y, r: 3.4 }),
};

// color from the worst (0) to the best (1), readable on light and dark.
function color(f) {
  const stops = [[120, 94, 160], [62, 120, 178], [34, 150, 140], [104, 180, 70], [214, 196, 40]];
  const at = Math.min(3.999, Math.max(0, f * 4)), i = Math.floor(at), r = at - i;
  return `rgb(${stops[i].map((c, j) => Math.round(c + (stops[i + 1][j] - c) * r)).join(",")})`;
}

function empty(where, text) {
  const p = document.createElement("p");
  p.className = "empty";
  p.textContent = text;
  where.replaceChildren(p);
}

function note(text) {
  const p = document.createElement("p");
  p.className = "note";
  p.textContent = text;
  return p;
}
