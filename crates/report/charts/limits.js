// Rounds against limits: how many times better than its limit a number was, with its 95 % interval. Right of the line it is enough,
// whether the limit is on a latency or on a rate. The axis is that of logarithms: half and twice are equally far from the limit.
'use strict';

plumb.limitsColumns = (look) => (look.narrow
  ? { from: 10, plot: 16, plotEnd: look.width - 16, says: look.width - 10 }
  : { from: 30, plot: Math.round(look.width * 0.28), plotEnd: Math.round(look.width * 0.7), says: look.width - 24 });
plumb.limitsRow = (look) => (look.narrow ? 42 : 26);

plumb.limitsRounds = (data) => data.rules.map((rule) => rule.rounds.length);

plumb.heights.limits = (data, look) => plumb.heightOfIntervals(data, look, plumb.limitsColumns(look).from, plumb.limitsRounds(data), plumb.limitsRow(look));

plumb.charts.limits = (data, look) => {
  const columns = plumb.limitsColumns(look);
  const scale = plumb.limitsScale(data, columns);
  return plumb.intervals(data, look, columns.from, plumb.limitsRounds(data), plumb.limitsRow(look), {
    ground: (top, bottom) => plumb.limitsGround(look, scale, top, bottom),
    head: (group, middle) => plumb.limitsName(data.rules[group], look, columns, middle),
    line: (group, index, y, height) => plumb.limitsLine(data.rules[group], index, look, columns, scale, y, height),
  });
};

// A limit and its answer, above its rounds.
plumb.limitsName = (rule, look, columns, y) => {
  const says = `${rule.answer}${rule.is_advice ? ' (advice)' : ''}`;
  const [name, answer] = [look.font(13, true), look.font(12.5, true)];
  const room = columns.says - columns.from - plumb.wide(says, answer) - 16;
  return [
    { shape: plumb.text(columns.from, y, plumb.fit(rule.label, room, name), name, look.ink) },
    { shape: plumb.text(columns.says, y, says, answer, plumb.limitsInk(rule.answer, look), 'right') },
  ];
};

plumb.limitsInk = (answer, look) => ({ yes: look.betweenInk, no: look.alarm })[answer] || look.soft;

// From times better to pixels, at least from half to twice, and at most from a thousandth to a thousand times.
plumb.limitsScale = (data, { plot, plotEnd }) => {
  const ends = data.rules.flatMap((rule) => rule.rounds).flatMap((round) => [round.low ?? round.times, round.high ?? round.times])
    .filter((times) => times > 0).map((times) => Math.log(Math.min(Math.max(times, 1e-3), 1e3)));
  const low = Math.min(...ends, -Math.log(2)) * 1.1;
  const high = Math.max(...ends, Math.log(2)) * 1.1;
  const at = (times) => plot + ((Math.min(Math.max(Math.log(Math.max(times, 1e-9)), low), high) - low) / (high - low)) * (plotEnd - plot);
  return { at, plot, plotEnd, isInside: (times) => times > 0 && Math.log(times) >= low && Math.log(times) <= high };
};

// The limit, and the axis.
plumb.limitsGround = (look, scale, top, bottom) => {
  const marks = [{ shape: plumb.rect(scale.at(1), top, scale.plotEnd - scale.at(1), bottom - top, look.wedge) }];
  const ticks = [1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter(scale.isInside)
    .map((times) => ({ times, at: scale.at(times) }));
  const limit = ticks.find((tick) => tick.times === 1);
  for (const { times, at } of plumb.ticksFrom(limit, ticks, look)) {
    marks.push({ shape: plumb.line([[at, top], [at, bottom + 4]], times === 1 ? look.target : look.line, times === 1 ? 1.4 : 1, times === 1 ? [5, 4] : undefined) });
    marks.push({ shape: plumb.text(at, bottom + 14, `${times}×`, look.font(11), look.ink, 'center') });
  }
  marks.push(...plumb.intervalsAxis(look, scale, bottom, 'times better than the limit, with its 95 % interval'));
  marks.push({ shape: plumb.text(scale.at(1), top - 10, 'limit', look.font(10.5), look.target, 'center') });
  return marks;
};

// One round: its number, its interval, and what that says.
plumb.limitsLine = (rule, index, look, columns, scale, y, height) => {
  const round = rule.rounds[index];
  const ink = plumb.limitsInk(round.answer, look);
  const textY = look.narrow ? y + 12 : y + height / 2;
  const lineY = look.narrow ? y + 30 : y + height / 2;
  const name = `round ${index + 1}`;
  const font = look.font(look.narrow ? 11 : 11.5);
  const marks = [{ shape: plumb.text(columns.from + (look.narrow ? 0 : 12), textY, name, font, look.ink) }];
  const valueAt = columns.from + (look.narrow ? 64 : 84);
  marks.push({ shape: plumb.text(valueAt, textY, look.narrow ? round.value : plumb.fit(round.value, columns.plot - valueAt - 12, font), font, look.soft) });
  marks.push({ shape: plumb.text(look.narrow ? columns.says : columns.plotEnd + 18, textY, round.answer, font, ink, look.narrow ? 'right' : 'left') });
  if (!(round.times > 0)) return marks;
  const ends = round.low > 0 && round.high > 0 ? [round.low, round.high] : undefined;
  return [...marks, ...plumb.interval(round.times, ends, lineY, ink, look, scale, `${rule.label}\n${name}: ${round.value}, ${round.answer}`)];
};
