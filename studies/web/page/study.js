"use strict";
// The page of a study.

let objective = 0, list = "best";

const maximize = () => data.directions[objective] === "MAXIMIZE";
const better = (a, b) => maximize() ? a > b : a < b;
// numeric is a number of the data, where infinite ones are texts; null if it is not one.
const numeric = v => v === "+inf" ? Infinity : v === "-inf" ? -Infinity : finite(v) ? v : null;
// A trial that breaks its constraints is not compared with others.
const valueOf = t => t.state === "COMPLETE" && !t.broken ? numeric(t.values[objective]) : null;
const reported = t => t.last === undefined ? "" : `${short(t.last ?? NaN)} at step ${t.step}`;
// A choice may be true, null, a list or an object.
const shown = v => typeof v === "number" ? short(v) : typeof v === "string" ? v : JSON.stringify(v);
const params = t => data.space.filter(p => p.name in t.params).map(p => `${p.name}=${shown(t.params[p.name])}`).join("  ");
const describe = t => `trial ${t.n}: ${t.state.toLowerCase()} ${t.values.map(short).join(", ") || reported(t)}\n${params(t).replaceAll("  ", "\n")}${t.broken ? "\nbreaks its constraints" : ""}${t.left ? "\nnobody runs it" : ""}${t.reason ? "\n" + t.reason : ""}`;

// ranked are the complete trials from the best of the objective on.
function ranked() {
  const complete = data.trials.filter(t => valueOf(t) !== null);
  return complete.sort((a, b) => valueOf(a) === valueOf(b) ? a.n - b.n : better(valueOf(a), valueOf(b)) ? -1 : 1);
}

function tiles() {
  const count = s => data.trials.filter(t => t.state === s).length;
  const best = ranked()[0], done = data.trials.filter(t => t.seconds > 0);
  const mean = done.length ? done.reduce((a, t) => a + t.seconds, 0) / done.length : null;
  const foreign = data.trials.filter(t => t.foreign).length, left = data.trials.filter(t => t.left).length, differs = data.trials.filter(t => t.differs).length;
  const all = [
    [data.trials.length, "trials" + (data.wanted ? `, ${data.wanted} wanted` : "")], [count("COMPLETE"), "complete"], [count("PRUNED"), "pruned"],
    [count("FAIL"), "failed", count("FAIL") > 0], [count("RUNNING") - left, "under way"],
  ];
  if (left) all.push([left, "left open for the next run"]);
  if (count("WAITING")) all.push([count("WAITING"), "waiting"]);
  if (best) all.push([short(valueOf(best)), `best ${data.metrics[objective]}, trial ${best.n}`]);
  if (data.directions.length > 1) all.push([data.best.length, "that no other is better than"]);
  if (mean !== null) all.push([mean < 1 ? `${(mean * 1000).toPrecision(3)} ms` : `${mean.toPrecision(3)} s`, "a trial, on average"]);
  if (foreign) all.push([foreign, "by other programs"]);
  if (differs) all.push([differs, "not deterministic", true]);
  showTiles(all);
}

function history() {
  const where = $("history");
  if (!data.trials.length) return empty(where, "No trial yet.");
  const values = data.trials.map(valueOf), best = ranked()[0];
  const shown = data.trials.map(t => valueOf(t) ?? (objective === 0 ? numeric(t.last) : null));
  const y = limits(shown.filter(v => v !== null), best ? valueOf(best) : NaN) || [0, 1];
  const last = data.trials[data.trials.length - 1].n;
  const f = frame(1100, 300, [-Math.max(1, last) * .012, Math.max(1, last) * 1.012], y, "trial", data.metrics[objective]);
  let path = "", bestSoFar = null, outside = 0;
  data.trials.forEach((t, i) => {
    const v = shown[i], kind = { COMPLETE: "complete", PRUNED: "pruned", FAIL: "failed", RUNNING: "running" }[t.state];
    if (!kind) return;
    const infeasible = kind === "complete" && v === null; // it breaks its constraints
    const m = v === null || kind === "failed" ? marks[infeasible ? "failed" : kind](f.x(t.n), f.bottom) : marks[kind](f.x(t.n), f.y(v));
    if (v !== null && f.outside(v)) outside++;
    f.root.append(titled(m, describe(t)));
    if (values[i] !== null && (bestSoFar === null || better(values[i], bestSoFar))) {
      path += path ? `H${f.x(t.n)}V${f.y(values[i])}` : `M${f.x(t.n)} ${f.y(values[i])}`;
      bestSoFar = values[i];
    }
  });
  if (path) f.root.append(el("path", { class: "best", d: path + `H${f.x(last)}` }));
  where.replaceChildren(key([[el("path", { class: "best", d: "M0 6H14" }), "best so far"], [marks.complete(7, 6), "complete"], [marks.pruned(7, 6), "pruned, at the last value reported"],
    [marks.failed(7, 6), "failed"], [marks.running(7, 6), "under way"]]), f.root);
  if (outside) where.append(note(`${outside} ${outside === 1 ? "value lies" : "values lie"} far out and ${outside === 1 ? "is" : "are"} drawn at the border.`));
}

// shades says how good each complete trial is among them, from 0 to 1, by its number.
function shades() {
  const order = ranked(), at = new Map();
  order.forEach((t, i) => at.set(t.n, order.length > 1 ? 1 - i / (order.length - 1) : 1));
  return at;
}

function curves() {
  const where = $("curves");
  const by = new Map(data.trials.map(t => [t.n, t])), some = data.curves.filter(c => c.values.some(finite));
  if (!some.length) return empty(where, data.trials.length ? "No trial has reported a value at a step." : "No trial yet.");
  const shade = shades(), best = ranked()[0];
  const steps = some.flatMap(c => c.steps), y = limits(some.flatMap(c => c.values), NaN);
  const f = frame(560, 300, [Math.min(...steps), Math.max(...steps)], y, "step", data.metrics[0]);
  const order = some.filter(c => !best || c.n !== best.n).sort((a, b) => (shade.get(a.n) ?? -1) - (shade.get(b.n) ?? -1));
  order.push(...some.filter(c => best && c.n === best.n));
  for (const c of order) {
    const t = by.get(c.n), s = shade.get(c.n), p = el("path", { class: "trial", d: trace(f, c.steps, c.values) });
    if (s === undefined) p.classList.add("off");
    else p.setAttribute("stroke", color(s));
    if (best && c.n === best.n) p.classList.add("first");
    f.root.append(titled(p, describe(t)));
  }
  where.replaceChildren(key([[el("path", { class: "best", d: "M0 6H14" }), "best trial"], [el("path", { class: "trial", stroke: color(1), d: "M0 6H14" }), "good"], [el("path", { class: "trial", stroke: color(0), d: "M0 6H14" }), "bad"],
    [el("path", { class: "trial off", d: "M0 6H14" }), "not complete"]]), f.root);
  const all = data.trials.filter(t => t.step !== undefined || t.state === "COMPLETE").length;
  if (some.length < all && some.length >= 140) where.append(note(`Of ${all} trials the best and the newest are drawn, ${some.length}.`));
}

function importances() {
  const where = $("importances"), all = data.importances[objective] || [];
  if (!all.length) return empty(where, "From 10 complete trials on.");
  where.replaceChildren(...all.map(({ name, share, error }) => {
    const row = document.createElement("div"), s = document.createElement("span"), i = document.createElement("i");
    row.className = "bar";
    s.textContent = s.title = name;
    i.textContent = `${(100 * share).toFixed(0)} ± ${(100 * error).toFixed(0)} %`;
    row.append(s, el("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none" }, el("rect", { width: 100 * share, height: 12 })), i);
    return row;
  }), note("Share of the variance of the ranks of complete trials that goes back to each parameter alone (first-order sensitivity from given data). What two have only together is not in it. ± is the standard error, by the jackknife."));
}

function parallel() {
  const where = $("parallel"), good = ranked();
  if (!data.space.length) return empty(where, "No trial yet.");
  const width = 1100, height = 320, top = 26, bottom = 26, axes = data.space.length + 1;
  const x = i => 70 + i * (width - 140) / (axes - 1), root = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const scales = data.space.map(p => {
    if (p.choices) {
      const texts = p.choices.map(c => JSON.stringify(c)), place = scale(-.5, texts.length - .5, height - bottom, top);
      return t => { const i = texts.indexOf(JSON.stringify(t.params[p.name])); return i < 0 ? null : place(i); };
    }
    const s = scale(p.low, p.high, height - bottom, top, p.log);
    return t => finite(t.params[p.name]) ? s(t.params[p.name]) : null;
  });
  const y = limits(good.map(valueOf), good.length ? valueOf(good[0]) : NaN) || [0, 1], ys = scale(y[0], y[1], height - bottom, top), shade = shades();
  const rest = data.trials.filter(t => valueOf(t) === null && (t.state === "PRUNED" || t.state === "RUNNING") && data.space.some(p => p.name in t.params));
  const drawn = [...rest.slice(-300), ...good.slice().reverse()];
  for (const t of drawn) {
    const points = []; // the line goes on from each axis to the next that the trial has
    scales.forEach((s, i) => {
      const v = t.params[data.space[i].name] === undefined ? null : s(t);
      if (v !== null) points.push(`${x(i).toFixed(1)} ${v.toFixed(1)}`);
    });
    const value = valueOf(t), p = el("path", { class: "trial" });
    if (value !== null) points.push(`${x(axes - 1).toFixed(1)} ${Math.min(height - bottom, Math.max(top, ys(value))).toFixed(1)}`);
    p.setAttribute("d", points.length ? "M" + points.join("L") + (points.length > 1 ? "" : value === null ? "h6" : "h-6") : "");
    if (value === null) p.classList.add("off");
    else p.setAttribute("stroke", color(shade.get(t.n)));
    if (good.length > 300) p.setAttribute("stroke-opacity", .35);
    if (good.length && t === good[0]) { p.classList.add("first"); p.removeAttribute("stroke-opacity"); }
    root.append(titled(p, describe(t)));
  }
  // Names and choices are cut to what there is room for, names at their front: they often begin alike.
  const most = Math.min(24, Math.max(4, Math.floor((width - 140) / (axes - 1) / 7.2)));
  const end = s => s.length > most ? "…" + s.slice(1 - most) : s;
  const front = (s, i) => { const n = i ? most : Math.min(most, 9); return s.length > n ? s.slice(0, n - 1) + "…" : s; };
  const axis = (i, name, labels) => {
    root.append(el("line", { class: "axis", x1: x(i), x2: x(i), y1: top, y2: height - bottom }), titled(el("text", { class: "name", x: x(i), y: 12, "text-anchor": "middle" }, end(name)), name));
    for (const [text, at, whole] of labels) {
      const label = el("text", { x: x(i) + (i === axes - 1 ? 6 : -6), y: at, "text-anchor": i === axes - 1 ? "start" : "end" }, text);
      root.append(whole === undefined ? label : titled(label, whole));
    }
  };
  data.space.forEach((p, i) => axis(i, p.name, p.choices ? p.choices.map((c, j) => [front(shown(c), i), scale(-.5, p.choices.length - .5, height - bottom, top)(j) + 4, shown(c)])
    : [[short(p.high), top + 4], [short(p.low), height - bottom + 4], ...(p.log ? [["log", (top + height - bottom) / 2]] : [])]));
  axis(axes - 1, data.metrics[objective], good.length ? [[short(y[1]), top + 4], [short(y[0]), height - bottom + 4]] : []);
  where.replaceChildren(root);
  const notes = [];
  if (rest.length) notes.push("Dashed: pruned and under way" + (rest.length > 300 ? ", the newest 300." : "."));
  if (drawn.some(t => data.space.some(p => !(p.name in t.params)))) notes.push("A line passes by the axes of parameters that its trial does not have.");
  if (notes.length) where.append(note(notes.join(" ")));
}

function table(where, head, rows) {
  const t = document.createElement("table"), tr = t.createTHead().insertRow(), body = t.createTBody();
  for (const h of head) { const th = document.createElement("th"); th.textContent = h; tr.append(th); }
  for (const row of rows) {
    const r = body.insertRow();
    row.forEach((c, i) => { const d = r.insertCell(); d.textContent = c ?? ""; if (head[i] === "reason") d.className = "why"; });
  }
  where.replaceChildren(t);
}

function trials() {
  const where = $("trials"), most = 200;
  const listed = { best: ranked(), newest: data.trials.slice().reverse(), running: data.trials.filter(t => t.state === "RUNNING" || t.state === "WAITING"), failed: data.trials.filter(t => t.state === "FAIL").reverse() }[list];
  if (!listed.length) return empty(where, { best: "No trial is complete.", newest: "No trial yet.", running: "None is under way.", failed: "None has failed." }[list]);
  const names = data.space.map(p => p.name), why = listed.slice(0, most).some(t => t.reason || t.differs || t.broken);
  table(where, ["trial", "state", ...data.metrics, "seconds", ...names, ...(why ? ["reason"] : [])], listed.slice(0, most).map(t => [t.n + (t.foreign ? " *" : ""), t.state.toLowerCase(),
    ...data.metrics.map((_, i) => t.values.length ? short(t.values[i]) : i === 0 ? reported(t) : ""),
    t.seconds === undefined ? "" : t.seconds.toFixed(2), ...names.map(n => n in t.params ? shown(t.params[n]) : "–"),
    ...(why ? [(t.differs ? "two results that are not equal; " : "") + (t.broken ? "breaks its constraints; " : "") + (t.reason || "")] : [])]));
  if (listed.length > most) where.append(note(`${most} of ${listed.length}.`));
  if (listed.slice(0, most).some(t => t.foreign)) where.append(note("* another program's"));
}

function workers(all) {
  $("workers-section").hidden = all === null;
  if (all === null) return;
  if (!all.length) return empty($("workers"), "No worker has been heard of yet.");
  table($("workers"), ["worker", "machine", "process", "trials under way", "lanes", "trials done", "threads", "last heard of"], all.map((w, i) => {
    const parts = w.id.split(":"), pid = parts.length > 2 ? parts[parts.length - 2] : "", host = parts.slice(0, -2).join(":") || w.id;
    return [i, host, pid, w.trials.slice(0, 12).join(", ") + (w.trials.length > 12 ? " …" : "") || "none", w.trials.length > 1 ? w.trials.length : "", w.done, w.threads || "", w.silent < 2 ? "now" : `${w.silent} s ago`];
  }));
}

function draw() {
  document.title = data.study + " · xlarun";
  $("name").textContent = data.study;
  $("about").textContent = [data.about, data.storage].filter(Boolean).join(" · ");
  $("which-label").hidden = data.directions.length < 2;
  if ($("which").options.length !== data.metrics.length) $("which").replaceChildren(...data.metrics.map((m, i) => new Option(`${m} (${data.directions[i].toLowerCase()})`, i)));
  for (const part of [tiles, history, curves, importances, parallel, trials]) part();
}

$("which").onchange = e => { objective = +e.target.value; draw(); };
for (const b of document.querySelectorAll(".tabs button")) b.onclick = () => {
  list = b.dataset.show;
  for (const o of document.querySelectorAll(".tabs button")) o.setAttribute("aria-selected", o === b);
  if (data) trials();
};
poll(draw, async () => {
  const r = await ask("workers");
  if (r.ok) workers(await r.json());
});
