"use strict";
// The page of a run of islands.

const count = () => data.standing ? data.standing.islands.length : Object.keys(data.rows[0] || {}).filter(k => /^mean_\d+$/.test(k)).length;
const hue = i => `hsl(${Math.round(360 * i / Math.max(1, count()))} 62% 48%)`;

// line is a metric over the generations.
function line(f, name, attrs, text) {
  const d = trace(f, data.rows.map(r => r.generation), data.rows.map(r => r[name]));
  f.root.append(titled(el("path", { ...attrs, d }), text));
}

function plot(id, names, width, yName, draw) {
  const values = data.rows.flatMap(r => names.map(n => r[n])), y = limits(values, NaN);
  if (!y) return empty($(id), "No generation yet.");
  const steps = data.rows.map(r => r.generation);
  const f = frame(width, 300, [Math.min(...steps), Math.max(...steps, steps[0] + 1)], y, "generation", yName);
  const entries = draw(f);
  $(id).replaceChildren(key(entries), f.root);
}

function means() {
  const all = [...Array(count()).keys()], last = data.rows[data.rows.length - 1] || {};
  plot("means", ["best_mean", "mean_fitness", ...all.map(i => `mean_${i}`)], 1100, "mean fitness", f => {
    for (const i of all) line(f, `mean_${i}`, { class: "trial", stroke: hue(i) }, `island ${i}: ${short(last[`mean_${i}`])}`);
    line(f, "mean_fitness", { class: "trial off" }, "all islands");
    line(f, "best_mean", { class: "best" }, "best island");
    const few = all.length <= 16 && `mean_0` in last ? all.map(i => [el("path", { class: "trial", stroke: hue(i), d: "M0 6H14" }), `island ${i}`]) : [];
    return [[el("path", { class: "best", d: "M0 6H14" }), "best of them"], [el("path", { class: "trial off", d: "M0 6H14" }), "all"], ...few];
  });
}

function diversity() {
  plot("diversity", ["diversity", "diversity_within"], 560, "distance per parameter", f => {
    line(f, "diversity", { class: "best" }, "between islands");
    line(f, "diversity_within", { class: "trial off" }, "within");
    return [[el("path", { class: "best", d: "M0 6H14" }), "between the islands' centers"], [el("path", { class: "trial off", d: "M0 6H14" }), "within each island's best"]];
  });
}

function foreign() {
  plot("foreign", ["foreign"], 560, "share", f => {
    line(f, "foreign", { class: "best" }, "foreign");
    return [[el("path", { class: "best", d: "M0 6H14" }), "of all islands together"]];
  });
}

// descent is a table: a row an island, a column the island that a part of it comes from.
function descent() {
  const where = $("descent");
  if (!data.standing) return empty(where, "Known from the first checkpoint on.");
  const all = data.standing.islands, own = Object.keys(all[0].settings || {});
  const t = document.createElement("table"), head = t.createTHead().insertRow(), body = t.createTBody();
  const cell = (row, text) => { const c = row.insertCell(); c.textContent = text; return c; };
  const shares = (row, all) => { for (const share of all) cell(row, share < .005 ? "" : `${Math.round(100 * share)} %`); };
  for (const name of ["island", "mean", "best ever", "taken in", ...own, ...all.map((_, i) => `from ${i}`)]) {
    const th = document.createElement("th");
    th.textContent = name;
    head.append(th);
  }
  all.forEach((of, i) => {
    const row = body.insertRow();
    cell(row, i);
    cell(row, short(of.mean_fitness));
    cell(row, short(of.best_ever));
    cell(row, short(of.immigrants.reduce((a, b) => a + b, 0)));
    for (const name of own) cell(row, short(of.settings[name]));
    shares(row, of.descent);
  });
  if (data.standing.descent) {
    const row = body.insertRow();
    for (const text of ["all", "", "", "", ...own.map(() => "")]) cell(row, text);
    shares(row, data.standing.descent);
  }
  where.replaceChildren(t, note("As of the last checkpoint. Shares of the islands whose founders an island's genomes descend from."));
}

function tiles() {
  const last = data.rows[data.rows.length - 1];
  const all = last ? [[last.generation, "generations"], [count() || "", "islands"], [short(last.best_mean), "mean of the best island"], [short(last.mean_fitness), "mean of all"], [short(last.best_ever), "best member ever"],
    [short(last.immigrants), "immigrants taken in"], [finite(last.foreign) ? `${Math.max(0, Math.round(100 * last.foreign))} %` : "", "from other islands"]] : [];
  showTiles(all);
}

function draw() {
  document.title = data.name + " · xlarun";
  $("name").textContent = data.name;
  $("about").textContent = [data.standing ? data.standing.topology : "", data.folder].filter(Boolean).join(" · ");
  for (const part of [tiles, means, diversity, foreign, descent]) part();
}

poll(draw);
