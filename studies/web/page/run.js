"use strict";
// The page of a run of any kind: its curves, the map of an archive, and members.

const timings = ["seconds", "steps_per_second", "env_steps"];
const words = name => name.replaceAll("_", " ");

// unit is what a row is of, such as "generation". The metric of this name counts the rows.
const unit = () => data.unit || "row";

// isEvaluation tells the metrics that only rows of an evaluation have. Their curves have no gaps.
const isEvaluation = name => name.startsWith("eval_");

// names are the metrics that have a curve: those that change. The first is the return of evaluations.
function names() {
  const all = new Set(data.rows.flatMap(r => Object.keys(r).filter(k => typeof r[k] === "number")));
  return [...all].filter(n => n !== unit() && !timings.includes(n) && (data.rows.length < 2 || data.rows.some(r => r[n] !== data.rows[0][n]))).sort((a, b) => (b === "eval_return") - (a === "eval_return") || (a < b ? -1 : 1));
}

function curves() {
  const all = names().map(name => {
    const rows = isEvaluation(name) ? data.rows.filter(r => finite(r[name])) : data.rows;
    const steps = rows.map((r, i) => r[unit()] ?? i + 1), values = rows.map(r => r[name]), y = limits(values, NaN);
    const f = frame(420, 210, [Math.min(...steps), Math.max(...steps, steps[0] + 1)], y, unit(), words(name));
    f.root.append(titled(el("path", { class: "best", d: trace(f, steps, values) }), words(name)));
    return f.root;
  });
  if (all.length) $("curves").replaceChildren(...all);
  else empty($("curves"), "Nothing was measured yet.");
}

// map draws the elites: a square for each point of the map, colored by fitness.
function map() {
  const m = data.map;
  $("map-section").hidden = !m;
  if (!m) return;
  const values = m.rows.flat().filter(finite), least = Math.min(...values), most = Math.max(...values);
  const second = m.low.length > 1;
  const f = frame(560, 480, [m.low[0], m.high[0]], second ? [m.low[1], m.high[1]] : [0, 1], words(m.names[0]), second ? words(m.names[1]) : "", 0);
  const wide = (f.x(m.high[0]) - f.x(m.low[0])) / m.rows[0].length, low = second ? m.low[1] : 0, high = second ? m.high[1] : 1;
  const tall = (f.y(low) - f.y(high)) / m.rows.length;
  m.rows.forEach((row, j) => row.forEach((x, i) => {
    if (!finite(x)) return;
    f.root.append(titled(el("rect", { class: "cell", x: (f.x(m.low[0]) + i * wide).toFixed(1), y: (f.y(high) + j * tall).toFixed(1), width: (wide + .3).toFixed(1), height: (tall + .3).toFixed(1), fill: color(most > least ? (x - least) / (most - least) : 1) }), m.cells ? `cell ${m.cells[j][i]}: ${short(x)}` : short(x)));
  }));
  const square = share => el("rect", { width: 14, height: 12, fill: color(share) });
  const marks = !values.length ? [] : most > least ? [0, .5, 1].map(s => [square(s), short(least + s * (most - least))]) : [[square(1), short(most)]];
  $("map").replaceChildren(key(marks), f.root, note(`As of generation ${m.generation}. Each point shows the best fitness there. xlarun play ${data.folder} --cell N shows the member of a cell on this page.`));
}

const shown = { "best.svg": "the network of the best member", "best.gif": "an episode of the best member", "play.gif": "the episode that was played last" };

function pictures() {
  $("pictures-section").hidden = !data.pictures.length;
  $("pictures").replaceChildren(...data.pictures.map(address => {
    const i = document.createElement("img");
    i.src = address;
    i.alt = shown[address.split("?")[0]];
    return i;
  }));
}

function tiles() {
  const last = data.rows.length ? { ...data.rows.findLast(r => finite(r.eval_return)), ...data.rows[data.rows.length - 1] } : null;
  const shown = ["eval_return", "coverage", "qd_score", "hypervolume", "moqd_score", "elites", "best_fitness", "best_ever", "mean_fitness", "mean_return"];
  showTiles(last ? [[last[unit()] ?? data.rows.length, unit() + "s"], ...shown.filter(n => finite(last[n])).map(n => [n === "coverage" ? `${short(100 * last[n])} %` : short(last[n]), words(n)])] : []);
}

function draw() {
  document.title = data.name + " · xlarun";
  $("name").textContent = data.name;
  $("about").textContent = [data.kind, data.folder].join(" · ");
  for (const part of [tiles, map, pictures, curves]) part();
}

poll(draw);
