"use strict";
// Sliders -> values of what is given -> answers, interpolated in a table, and their curve.
const lawdslAnswers = (number) => {
  const root = document.getElementById(`answers-${number}`);
  const { axes, columns, statuses, level, log_span: logSpan } = JSON.parse(document.getElementById(`answers-settings-${number}`).textContent);
  const STEPS = 1000;
  const element = (part) => document.getElementById(`answers-${part}-${number}`);
  const rows = axes.map((axis, k) => ({
    ...axis,
    value: axis.start,
    low: axis.nodes[0],
    high: axis.nodes[axis.nodes.length - 1],
    range: element(`range-${k}`),
    text: element(`text-${k}`),
  }));
  const strides = rows.map((_, k) => rows.slice(k + 1).reduce((size, row) => size * row.nodes.length, 1));
  const output = element("output"), where = element("where"), along = element("along"), of = element("of"), plot = element("plot");
  const written = (x) => String(Number(x.toPrecision(6)));
  const short = (x) => String(Number(x.toPrecision(3)));
  const withUnit = (name, unit) => (unit ? `${name} [${unit}]` : name);

  const valueAt = (row, position) => row.low * Math.pow(row.high / row.low, position / STEPS);
  const positionOf = (row) => Math.round((STEPS * Math.log(row.value / row.low)) / Math.log(row.high / row.low));

  // the node below a value, and the share of the way to the next
  const place = (row, value) => {
    let k = 0;
    while (k < row.nodes.length - 2 && row.nodes[k + 1] <= value) k += 1;
    return [k, Math.log(value / row.nodes[k]) / Math.log(row.nodes[k + 1] / row.nodes[k])];
  };
  // each corner of the cell around a point: the number of its node, and its weight
  const corners = (point) => rows.reduce(
    (all, row, k) => {
      const [below, share] = place(row, point[k]);
      return all.flatMap(([node, weight]) => [
        [node + below * strides[k], weight * (1 - share)],
        [node + (below + 1) * strides[k], weight * share],
      ]);
    },
    [[0, 1]],
  ).filter(([, weight]) => weight !== 0);
  const interpolated = (values, around) => {
    if (around.some(([node]) => values[node] === null)) return null;
    const logarithmic = values.every((x) => x === null || x > 0);
    const sum = around.reduce((total, [node, weight]) => total + weight * (logarithmic ? Math.log(values[node]) : values[node]), 0);
    return logarithmic ? Math.exp(sum) : sum;
  };

  const line = (column, around) => {
    const value = interpolated(column.values, around);
    if (value === null) return [null, ""];
    const [low, high] = [column.low, column.high].map((ends) => interpolated(ends, around));
    const interval = low === null || high === null ? "" : `, ${written(100 * level)} % interval ${written(low)} to ${written(high)}`;
    return [value, `${column.name} = ${written(value)}${column.unit ? ` ${column.unit}` : ""}${interval}`];
  };
  const state = (around) => {
    const missing = [...new Set(around.map(([node]) => statuses[node]).filter((status) => status !== "answered"))];
    if (missing.length) return around.length === 1 ? `No answer here: ${missing.join(", ")}.` : `No answer is shown here: beside these values there is none (${missing.join(", ")}).`;
    return around.length === 1 ? "Computed at these values." : "Interpolated between computed answers.";
  };

  const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [640, 280, 76, 44, 12, 16];
  const draw = (name, attributes, text) => {
    const made = document.createElementNS(plot.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    plot.append(made);
  };
  const POINTS = 96;
  const curve = () => {
    const k = Number(along.value), row = rows[k], column = columns[Number(of.value)];
    const point = rows.map((each) => each.value);
    const at = (x) => {
      const around = corners(point.map((value, j) => (j === k ? x : value)));
      return [column.values, column.low, column.high].map((values) => interpolated(values, around));
    };
    const xs = [...Array(POINTS + 1).keys()].map((i) => valueAt(row, (i / POINTS) * STEPS)).concat(row.nodes, [row.value]);
    const all = [...new Set(xs)].sort((a, b) => a - b).map((x) => [x, ...at(x)]);
    const numbers = all.flatMap(([, ...ys]) => ys).filter((y) => y !== null);
    plot.replaceChildren();
    const title = `${column.name} along ${row.name}`;
    if (!numbers.length) {
      plot.setAttribute("aria-label", `${title}: no answer`);
      draw("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle" }, `no answer along ${row.name}`);
      return;
    }
    let [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const logarithmic = least > 0 && most > logSpan * least;
    const flat = most - least <= 1e-9 * Math.max(Math.abs(least), Math.abs(most));
    if (flat) [least, most] = [least - 0.05 * Math.abs(least) - 1e-12, most + 0.05 * Math.abs(most) + 1e-12];
    const scale = logarithmic ? Math.log : (y) => y;
    const X = (x) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(x / row.low)) / Math.log(row.high / row.low);
    const Y = (y) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * (scale(y) - scale(least))) / (scale(most) - scale(least));
    const floor = HEIGHT - BOTTOM;
    for (const share of [0, 0.5, 1]) {
      const x = valueAt(row, share * STEPS), y = logarithmic ? least * Math.pow(most / least, share) : least + share * (most - least);
      draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: Y(y), y2: Y(y) });
      draw("text", { x: LEFT - 8, y: Y(y) + 4, "text-anchor": "end" }, short(y));
      draw("text", { x: X(x), y: floor + 16, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, short(x));
    }
    draw("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, withUnit(row.name, row.unit));
    // runs of points with an answer; what is between them has none
    const pieces = [];
    for (const [i, each] of all.entries()) {
      if (each[1] === null) {
        const [before, after] = [all[Math.max(i - 1, 0)][0], all[Math.min(i + 1, all.length - 1)][0]];
        draw("rect", { class: "none", x: X(before), y: TOP, width: Math.max(X(after) - X(before), 0), height: floor - TOP });
      } else if (i > 0 && all[i - 1][1] !== null) pieces[pieces.length - 1].push(each);
      else pieces.push([each]);
    }
    for (const piece of pieces) {
      const banded = piece.filter(([, , low, high]) => low !== null && high !== null);
      const ends = [...banded.map(([x, , low]) => [x, low]), ...banded.map(([x, , , high]) => [x, high]).reverse()];
      if (ends.length) draw("path", { class: "band", d: `M${ends.map(([x, y]) => `${X(x).toFixed(2)},${Y(y).toFixed(2)}`).join("L")}Z` });
      draw("path", { class: "line", d: `M${piece.map(([x, y]) => `${X(x).toFixed(2)},${Y(y).toFixed(2)}`).join("L")}` });
    }
    for (const x of row.nodes) {
      const [y] = at(x);
      if (y !== null) draw("circle", { class: "node", cx: X(x), cy: Y(y), r: 2.5 });
    }
    const [here] = at(row.value);
    if (here !== null) draw("circle", { class: "here", cx: X(row.value), cy: Y(here), r: 5 });
    const gaps = all.some(([, y]) => y === null) ? "; shaded where there is no answer" : "";
    const shown = all.filter(([, y]) => y !== null);
    const [first, last] = [shown[0], shown[shown.length - 1]];
    plot.setAttribute("aria-label", `${title}: ${written(first[1])} at ${written(first[0])}, ${written(last[1])} at ${written(last[0])}${gaps}`);
  };

  const show = () => {
    for (const row of rows) {
      row.range.value = String(positionOf(row));
      row.range.setAttribute("aria-valuetext", written(row.value));
      if (document.activeElement !== row.text) row.text.value = written(row.value);
    }
    const around = corners(rows.map((row) => row.value));
    const lines = columns.map((column) => line(column, around));
    output.dataset.inputs = JSON.stringify(Object.fromEntries(rows.map((row) => [row.name, row.value])));
    output.dataset.values = JSON.stringify(lines.map(([value]) => value));
    output.replaceChildren(...lines.filter(([value]) => value !== null).map(([, text]) => {
      const part = document.createElement("span");
      part.textContent = text;
      return part;
    }));
    where.textContent = state(around);
    curve();
  };
  for (const row of rows) {
    const moved = (value) => {
      row.value = Math.min(Math.max(value, row.low), row.high);
      show();
    };
    row.range.addEventListener("input", () => {
      // a slider at the mark of what was asked, or of another node, is there exactly
      const position = Number(row.range.value);
      const node = row.nodes.find((x) => Math.round((STEPS * Math.log(x / row.low)) / Math.log(row.high / row.low)) === position);
      moved(node ?? valueAt(row, position));
    });
    row.text.addEventListener("change", () => {
      const value = Number(row.text.value);
      row.text.blur();
      if (row.text.value.trim() !== "" && Number.isFinite(value) && value > 0) moved(value);
      else show();
    });
  }
  // at first the curve of what moves, if anything does
  const moving = columns.findIndex(({ values }) => new Set(values.filter((x) => x !== null)).size > 1);
  of.value = String(moving < 0 ? columns.length - 1 : moving);
  along.addEventListener("change", curve);
  of.addEventListener("change", curve);
  root.hidden = false;
  show();
};
