// What changed between two sets of results: a line per number with its interval around its estimate, against no change and the
// tolerance. Changes are ratios, so the axis is that of their logarithms: half and twice are equally far from no change.
'use strict';

// Edges of the columns: the name, the intervals, what they say.
plumb.changesColumns = (look) => (look.narrow
  ? { from: 10, plot: 16, plotEnd: look.width - 16, says: look.width - 10 }
  : { from: 30, plot: Math.round(look.width * 0.31), plotEnd: Math.round(look.width * (look.width < 900 ? 0.64 : 0.68)), says: look.width - 24 });
plumb.changesRow = (look) => (look.narrow ? 48 : 26);

plumb.changesRows = (data) => data.tests.map((test) => test.rows.length);

plumb.heights.changes = (data, look) => plumb.heightOfIntervals(data, look, plumb.changesColumns(look).from, plumb.changesRows(data), plumb.changesRow(look));

plumb.charts.changes = (data, look) => {
  const columns = plumb.changesColumns(look);
  const scale = plumb.changesScale(data, columns);
  return plumb.intervals(data, look, columns.from, plumb.changesRows(data), plumb.changesRow(look), {
    ground: (top, bottom) => plumb.changesGround(data, look, scale, top, bottom),
    head: (group, middle) => plumb.changesName(data.tests[group], look, columns, middle),
    line: (group, index, y, height) => plumb.changesLine(data.tests[group].rows[index], data.tests[group], look, columns, scale, y, height),
  });
};

// A test and its runs, above its numbers.
plumb.changesName = (test, look, columns, y) => {
  const font = look.font(13, true);
  const room = columns.says - columns.from - plumb.wide(test.runs, look.font(11.5)) - 16;
  return [
    { shape: plumb.text(columns.from, y, plumb.fit(test.label, room, font), font, look.ink) },
    plumb.changesText(test.runs, columns.says, y, look, look.soft, 'right'),
  ];
};

plumb.changesText = (text, x, y, look, ink, align, bold) => ({ shape: plumb.text(x, y, text, look.font(look.narrow ? 11 : 11.5, bold), ink, align) });

// From shares to pixels: logarithms of ratios, up to a fifth and five times.
plumb.changesScale = (data, { plot, plotEnd }) => {
  const most = Math.log(5);
  const of = (share) => Math.log1p(Math.max(share, -0.999));
  // What cannot be told may be anywhere: it does not make the axis longer than to half and twice.
  const within = (row, share) => (row.verdict === 'cannot_tell' ? Math.min(Math.max(of(share), -Math.log(2)), Math.log(2)) : of(share));
  const ends = data.tests.flatMap((test) => test.rows).flatMap((row) => [row.low ?? row.change, row.high ?? row.change]
    .filter((share) => share !== null && share !== undefined).map((share) => within(row, share)));
  const edge = Math.log1p(data.tolerance || 0.05) * 1.7;
  const low = Math.max(Math.min(...ends, -edge) * 1.05, -most);
  const high = Math.min(Math.max(...ends, edge) * 1.05, most);
  const at = (share) => plot + ((Math.min(Math.max(of(share), low), high) - low) / (high - low)) * (plotEnd - plot);
  return { at, plot, plotEnd, isInside: (share) => of(share) >= low && of(share) <= high };
};

plumb.changesSigned = (share) => `${plumb.signed(share * 100)} %`;

// The band of the tolerance with its edges, no change, and the axis.
plumb.changesGround = (data, look, scale, top, bottom) => {
  const marks = [];
  const lower = 1 / (1 + data.tolerance) - 1;
  const [left, right] = [scale.at(lower), scale.at(data.tolerance)];
  marks.push({ shape: plumb.rect(left, top, right - left, bottom - top, look.wedge) });
  for (const x of [left, right]) marks.push({ shape: plumb.line([[x, top], [x, bottom]], look.target, 1.2, [5, 4]) });
  const shares = [-0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2, -0.15, -0.1, -0.05, -0.02, -0.01, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 4];
  const ticks = shares.filter(scale.isInside).map((share) => ({ share, at: scale.at(share) }));
  const zero = { share: 0, at: scale.at(0) };
  for (const { share, at } of plumb.ticksFrom(zero, ticks, look)) {
    marks.push({ shape: plumb.line([[at, top], [at, bottom + 4]], share === 0 ? look.soft : look.line, share === 0 ? 1.4 : 1) });
    marks.push({ shape: plumb.text(at, bottom + 14, share === 0 ? '0' : `${share < 0 ? '−' : '+'}${plumb.percent(Math.abs(share))}`, look.font(11), look.ink, 'center') });
  }
  marks.push(...plumb.intervalsAxis(look, scale, bottom, 'change from old to new, with its 95 % interval'));
  const tolerance = `tolerance ${plumb.chosenPercent(data.tolerance)}`;
  const half = plumb.wide(tolerance, look.font(10.5)) / 2;
  const x = Math.min(Math.max((left + right) / 2, half + 4), look.width - half - 4);
  marks.push({ shape: plumb.text(x, top - 10, tolerance, look.font(10.5), look.target, 'center') });
  return marks;
};

plumb.outcomes = {
  same: { word: 'same', ink: (look) => look.soft },
  better: { word: 'better', ink: (look) => look.betweenInk },
  worse: { word: 'worse', ink: (look) => look.alarm },
  slight: { word: 'differs slightly', ink: (look) => look.target },
  differs: { word: 'differs', ink: (look) => look.target },
  cannot_tell: { word: 'cannot tell', ink: (look) => look.soft },
};

// The sign of a verdict, 10 pixels wide around a point: the embedded typeface has no triangles.
plumb.changesSign = (verdict, x, y, ink) => {
  const polygon = (points) => ({ shape: { type: 'polygon', shape: { points }, style: { fill: ink } } });
  const dash = (at, lift) => ({ shape: plumb.line([[x - 5, at + lift], [x - 1.5, at - lift], [x + 1.5, at + lift], [x + 5, at - lift]], ink, 1.6) });
  if (verdict === 'better') return [polygon([[x, y - 5], [x + 5, y + 4], [x - 5, y + 4]])];
  if (verdict === 'worse') return [polygon([[x, y + 5], [x + 5, y - 4], [x - 5, y - 4]])];
  if (verdict === 'same') return [dash(y - 2.5, 0), dash(y + 2.5, 0)];
  if (verdict === 'slight') return [dash(y - 2.5, 1.5), dash(y + 2.5, 1.5)];
  if (verdict === 'differs') {
    return [dash(y - 2.5, 0), dash(y + 2.5, 0), { shape: plumb.line([[x - 3, y + 6], [x + 3, y - 6]], ink, 1.6) }];
  }
  return [{ shape: plumb.text(x, y + 0.5, '?', `bold 12px ${plumb.family}`, ink, 'center') }];
};

// One number: its name and values, its interval, and what that says.
plumb.changesLine = (row, test, look, columns, scale, y, height) => {
  const outcome = plumb.outcomes[row.verdict] || plumb.outcomes.cannot_tell;
  const ink = outcome.ink(look);
  const value = (number) => (number === null || number === undefined ? '-' : plumb.units[row.unit].says(number));
  const known = row.change !== null && row.change !== undefined;
  const hasInterval = row.low !== null && row.low !== undefined && row.high !== null && row.high !== undefined;
  const isKnown = [row.old, row.new].some((number) => number !== null && number !== undefined);
  const values = isKnown ? `${value(row.old)} → ${value(row.new)}` : 'not known';
  const change = known ? plumb.changesSigned(row.change) : '';
  const ends = hasInterval ? ` (${plumb.changesSigned(row.low).replace(' %', '')} to ${plumb.changesSigned(row.high).replace(' %', '')})` : '';
  const says = `${test.label}: ${row.name}\n${values}\n${change}${ends}\n${outcome.word}`;
  const textY = look.narrow ? y + 12 : y + height / 2;
  const lineY = look.narrow ? y + 33 : y + height / 2;
  const marks = [plumb.changesText(row.name, columns.from + (look.narrow ? 0 : 12), textY, look, look.ink, 'left', true)];
  const nameEnd = columns.from + (look.narrow ? 44 : 68);
  const wide = (text) => plumb.wide(text, look.font(look.narrow ? 11 : 11.5));
  const detail = `${change}${ends}`;
  if (look.narrow) {
    const room = columns.says - 18 - wide(detail) - 10 - nameEnd;
    marks.push(plumb.changesText(wide(values) <= room ? values : value(row.new), nameEnd, textY, look, look.soft, 'left'));
    marks.push(plumb.changesText(detail, columns.says - 18, textY, look, ink, 'right'));
    marks.push(...plumb.changesSign(row.verdict, columns.says - 6, textY, ink));
  } else {
    marks.push(plumb.changesText(plumb.fit(values, columns.plot - nameEnd - 12, look.font(11.5)), nameEnd, textY, look, look.soft, 'left'));
    marks.push(...plumb.changesSign(row.verdict, columns.plotEnd + 18, textY, ink));
    const from = columns.plotEnd + 30;
    const whole = `${detail}${detail ? '  ' : ''}${outcome.word}`;
    marks.push(plumb.changesText(wide(whole) <= columns.says - from ? whole : plumb.fit(detail || outcome.word, columns.says - from, look.font(11.5)), from, textY, look, ink, 'left'));
  }
  if (!known) return marks;
  return [...marks, ...plumb.interval(row.change, hasInterval ? [row.low, row.high] : undefined, lineY, ink, look, scale, says)];
};
