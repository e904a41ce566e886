// Rounds against limits: how many times better than its limit a number was, with its 95 % interval. Right of the line it is enough,
// whether the limit is on a latency or on a rate. The axis is that of logarithms: half and twice are equally far from the limit.
'use strict';

plumb.limitsColumns = (look) => (look.narrow
  ? { from: 10, plot: 16, plotEnd: look.width - 16, says: look.width - 10 }
  : { from: 30, plot: Math.round(look.width * 0.28), plotEnd: Math.round(look.width * 0.7), says: look.width - 24 });
plumb.limitsRow = (look) => (look.narrow ? 42 : 26);
plumb.limitsHead = 34;

plumb.heights.limits = (data, look) => {
  const frame = plumb.frame(data, { ...look, height: 0 }, plumb.limitsColumns(look).from);
  const rows = data.rules.reduce((sum, rule) => sum + plumb.limitsHead + plumb.limitsRow(look) * rule.rounds.length, 0);
  return frame.top + 28 + rows + 62 + frame.below;
};

plumb.charts.limits = (data, look) => {
  const columns = plumb.limitsColumns(look);
  const frame = plumb.frame(data, look, columns.from);
  const [top, bottom] = [frame.top + 28, look.height - frame.below - 50];
  const scale = plumb.limitsScale(data, columns);
  const marks = [...frame.marks, ...plumb.limitsGround(look, scale, top, bottom)];
  // A height that was asked for divides among the rows.
  const wanted = data.rules.reduce((sum, rule) => sum + plumb.limitsHead + plumb.limitsRow(look) * rule.rounds.length, 0);
  const part = wanted > 0 ? Math.min((bottom - top - 4) / wanted, 1) : 1;
  let y = top + 4;
  for (const rule of data.rules) {
    const middle = y + (plumb.limitsHead * part) / 2 + 4;
    const says = `${rule.answer}${rule.is_advice ? ' (advice)' : ''}`;
    const room = columns.says - columns.from - echarts.format.getTextRect(says, look.font(12.5, true)).width - 16;
    marks.push({ shape: plumb.text(columns.from, middle, plumb.fit(rule.label, room, look.font(13, true)), look.font(13, true), look.ink) });
    marks.push({ shape: plumb.text(columns.says, middle, says, look.font(12.5, true), plumb.limitsInk(rule.answer, look), 'right') });
    y += plumb.limitsHead * part;
    rule.rounds.forEach((round, index) => {
      marks.push(...plumb.limitsLine(round, index, rule, look, columns, scale, y, plumb.limitsRow(look) * part));
      y += plumb.limitsRow(look) * part;
    });
  }
  return {
    backgroundColor: look.paper,
    tooltip: { trigger: 'item', confine: true },
    aria: { enabled: true, label: { description: [data.title, ...data.sentences].join('. ') } },
    series: [plumb.marks(marks, look)],
  };
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
  const gap = look.narrow ? 42 : 50;
  const above = ticks.filter((tick) => tick.times > 1);
  const below = ticks.filter((tick) => tick.times < 1).reverse();
  for (const { times, at } of [limit, ...plumb.sparse([limit, ...above], gap).slice(1), ...plumb.sparse([limit, ...below], gap).slice(1)]) {
    marks.push({ shape: plumb.line([[at, top], [at, bottom + 4]], times === 1 ? look.target : look.line, times === 1 ? 1.4 : 1, times === 1 ? [5, 4] : undefined) });
    marks.push({ shape: plumb.text(at, bottom + 14, `${times}×`, look.font(11), look.ink, 'center') });
  }
  marks.push({ shape: plumb.line([[scale.plot, bottom], [scale.plotEnd, bottom]], look.axis, 1) });
  marks.push({ shape: plumb.text((scale.plot + scale.plotEnd) / 2, bottom + 34, 'times better than the limit, with its 95 % interval', look.font(11), look.soft, 'center') });
  marks.push({ shape: plumb.text(scale.at(1), top - 10, 'limit', look.font(10.5), look.target, 'center') });
  return marks;
};

// One round: its number, its interval, and what that says.
plumb.limitsLine = (round, index, rule, look, columns, scale, y, height) => {
  const ink = plumb.limitsInk(round.answer, look);
  const textY = look.narrow ? y + 12 : y + height / 2;
  const lineY = look.narrow ? y + 30 : y + height / 2;
  const name = `round ${index + 1}`;
  const font = look.font(look.narrow ? 11 : 11.5);
  const marks = [{ shape: plumb.text(columns.from + (look.narrow ? 0 : 12), textY, name, font, look.ink) }];
  const valueAt = columns.from + (look.narrow ? 64 : 84);
  marks.push({ shape: plumb.text(valueAt, textY, round.value, font, look.soft) });
  marks.push({ shape: plumb.text(look.narrow ? columns.says : columns.plotEnd + 18, textY, round.answer, font, ink, look.narrow ? 'right' : 'left') });
  if (!(round.times > 0)) return marks;
  const hasInterval = round.low > 0 && round.high > 0;
  if (hasInterval) {
    const [left, right] = [scale.at(round.low), scale.at(round.high)];
    marks.push({ shape: plumb.line([[left, lineY], [right, lineY]], ink, 2.4) });
    // An end is a stroke; one beyond the axis is an arrow.
    for (const [times, x, way] of [[round.low, left, 1], [round.high, right, -1]]) {
      marks.push({ shape: scale.isInside(times) ? plumb.line([[x, lineY - 5], [x, lineY + 5]], ink, 1.6) : plumb.line([[x + 5 * way, lineY - 5], [x, lineY], [x + 5 * way, lineY + 5]], ink, 1.6) });
    }
  }
  // Without an interval the number is hollow: nothing is known of its noise.
  const box = plumb.rect(scale.at(round.times) - 4, lineY - 4, 8, 8, hasInterval ? ink : look.paper, { stroke: ink, lineWidth: 1.6 });
  marks.push({ shape: box, says: `${rule.label}\n${name}: ${round.value}, ${round.answer}` });
  return marks;
};
