"use strict";
// Sliders -> values of the variables -> the law, which a module of the page computes.
globalThis.lawdslExplore = (number, predict, predictWithInterval) => {
  const root = document.getElementById(`explorer-${number}`);
  const settings = JSON.parse(document.getElementById(`settings-${number}`).textContent);
  const STEPS = 1000;
  const rows = settings.sliders.map((slider, k) => ({
    ...slider,
    value: slider.start,
    range: document.getElementById(`range-${number}-${k}`),
    text: document.getElementById(`text-${number}-${k}`),
  }));
  const output = document.getElementById(`output-${number}`);
  const where = document.getElementById(`where-${number}`);
  const written = (x) => String(Number(x.toPrecision(6)));

  const valueAt = (row, position) => {
    const share = position / STEPS;
    if (row.logarithmic) return row.low * Math.pow(row.high / row.low, share);
    return row.low + share * (row.high - row.low);
  };
  const positionOf = (row) => {
    const share = row.logarithmic
      ? Math.log(row.value / row.low) / Math.log(row.high / row.low)
      : (row.value - row.low) / (row.high - row.low);
    return Math.round(STEPS * Math.min(Math.max(share, 0), 1));
  };

  // shares sum to 1: those that were not moved keep their ratios
  const share = (moved) => {
    const others = rows.filter((row) => row.simplex && row.variable === moved.variable && row !== moved);
    moved.value = Math.min(Math.max(moved.value, 0), 1);
    const total = others.reduce((sum, row) => sum + row.value, 0);
    for (const row of others) {
      row.value = total > 0 ? (row.value / total) * (1 - moved.value) : (1 - moved.value) / others.length;
    }
  };

  const inputs = () => {
    const values = Object.create(null); // a label may be __proto__
    for (const row of rows) {
      if (row.label) (values[row.variable] ??= Object.create(null))[row.label] = row.value;
      else values[row.variable] = row.value;
    }
    return values;
  };
  const choices = Object.entries(settings.rows).reduce(
    (all, [name, labels]) => all.flatMap((one) => labels.map((label) => ({ ...one, [name]: label }))),
    [{}],
  );
  const percent = settings.level === null ? "" : `${written(100 * settings.level)} % interval`;
  const sentence = (choice) => {
    const point = { ...inputs(), ...choice };
    const value = predict(point);
    const label = Object.values(choice).join(", ");
    const name = label ? `${settings.output}[${label}]` : settings.output;
    let line = `${name} = ${written(value)}${settings.unit ? ` ${settings.unit}` : ""}`;
    if (predictWithInterval !== null) {
      const [, low, high] = predictWithInterval(point);
      line += Number.isFinite(high) && Number.isFinite(low)
        ? `, ${percent} ${written(low)} to ${written(high)}`
        : `; the ${percent} has no finite end`;
    }
    return [value, line];
  };
  const beyond = () => {
    const places = [];
    for (const row of rows) {
      if (row.fitted === null) continue;
      const [least, most] = row.fitted;
      const slack = 1e-9 * (most - least);
      if (row.value > most + slack) {
        places.push(most > 0 ? `${row.name} is ${written(row.value / most)} times the largest fitted` : `${row.name} is above the fitted range`);
      } else if (row.value < least - slack) places.push(`${row.name} is below the fitted range`);
    }
    return places.length
      ? `Beyond the rows, where the error of the law is not in the interval: ${places.join("; ")}.`
      : rows.some((row) => row.fitted === null)
        ? "Each variable whose fitted range is known is within it."
        : "Each variable is within its fitted range.";
  };

  const show = () => {
    for (const row of rows) {
      row.range.value = String(positionOf(row));
      row.range.setAttribute("aria-valuetext", written(row.value));
      if (document.activeElement !== row.text) row.text.value = written(row.value);
    }
    try {
      const lines = choices.map(sentence);
      output.dataset.values = JSON.stringify(lines.map(([value]) => value));
      output.dataset.inputs = JSON.stringify(inputs());
      output.replaceChildren(...lines.map(([, line]) => {
        const part = document.createElement("span");
        part.textContent = line;
        return part;
      }));
      where.textContent = beyond();
    } catch (error) {
      output.textContent = error.message;
      where.textContent = "";
    }
  };
  for (const row of rows) {
    const moved = (value) => {
      row.value = value;
      if (row.simplex) share(row);
      show();
    };
    row.range.addEventListener("input", () => moved(valueAt(row, Number(row.range.value))));
    row.text.addEventListener("change", () => {
      const value = Number(row.text.value);
      row.text.blur();
      if (row.text.value.trim() !== "" && Number.isFinite(value)) moved(value);
      else show();
    });
  }
  root.hidden = false;
  show();
};
