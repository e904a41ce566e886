// Where the time of I/Os goes: a bar of parts around each percentile, the slow I/Os over time in the colour of their largest part,
// and the number in flight over time.
'use strict';

plumb.partColours = {
  cache: '#00845f', 'file system': '#7a4fbf', 'lock or other wait': '#a87400', journal: '#b8508f', 'dirty limit': '#8a7a00',
  throttle: '#d1343f', tags: '#2d8cc4', scheduler: '#3d8a8a', 'dm or md': '#956650', device: '#0072b2', flush: '#4a5bd4',
  'waking up': '#d55e00', 'copy and return': '#4d7c0f', 'not seen': '#6f7a8a',
};

plumb.partsHead = 34;
plumb.partsRow = 24;
plumb.partsPanel = (look) => (look.onPaper ? 150 : 220);
plumb.partsBars = (data) => data.kinds.reduce((sum, kind) => sum + plumb.partsHead + plumb.partsRow * kind.bars.length, 0);

plumb.partsDepth = (data, look) => (data.depth.length > 0 ? (look.onPaper ? 60 : 84) : 0);

plumb.heights.parts = (data, look) => plumb.heightOf(data, look, data.parts, 10 + plumb.partsBars(data) + (data.slow.length > 0 ? plumb.partsPanel(look) + 94 : 0) + (data.slow.length > 0 && data.depth.length > 0 ? plumb.partsDepth(data, look) + 34 : 0));

plumb.charts.parts = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const colour = (part) => plumb.partColours[data.parts[part]] || look.soft;
  let y = frame.top + plumb.legendHeight(data.parts, look, left) + 10;
  for (const kind of data.kinds) {
    frame.marks.push(...plumb.partsKind(data, kind, y, left, look, colour));
    y += plumb.partsHead + plumb.partsRow * kind.bars.length;
  }
  const series = data.parts.map((name, part) => ({
    type: 'scatter', name, symbolSize: look.onPaper ? 4 : 6, animation: false, itemStyle: { color: colour(part), opacity: 0.85 },
    data: data.slow.filter((io) => io.part === part).map((io) => ({ value: [io.at_s, io.time_ns], name: io.says })),
  }));
  const seconds = (value) => `${+plumb.fixed(value, 3)} s`;
  const times = data.slow.map((io) => io.time_ns);
  const deep = plumb.partsDepth(data, look);
  const room = look.height - y - 38 - frame.below - 52 - (deep > 0 ? deep + 34 : 0);
  const height = Math.max(room, 40);
  const time = (index, last) => plumb.axis(look, last ? 'time in the recording' : '', last ? seconds : () => '', { gridIndex: index, min: 0, max: data.until_s, nameGap: 28, splitLine: { show: false }, axisLabel: { show: last, color: look.ink, fontFamily: plumb.family, fontSize: 11, formatter: seconds, hideOverlap: true, showMaxLabel: false } });
  const grids = [{ left, right: 40, top: y + 38, height }, { left, right: 40, top: y + 38 + height + 34, height: deep }].slice(0, deep > 0 ? 2 : 1);
  const each = data.until_s / Math.max(data.depth.length, 1);
  const line = {
    type: 'line', name: 'in flight', xAxisIndex: 1, yAxisIndex: 1, step: 'end', symbol: 'none', animation: false, silent: true,
    lineStyle: { color: look.soft, width: 1.2 }, areaStyle: { color: look.soft, opacity: 0.18 },
    data: [[0, data.depth[0]], ...data.depth.map((depth, index) => [(index + 1) * each, depth])],
  };
  return plumb.option(data, look, frame, {
    legend: plumb.legend(data.parts, look, frame.top - 6, left),
    // Without slow I/Os the series are there for the legend.
    ...(data.slow.length === 0 ? { grid: { left, right: 40, top: y, height: 1 }, xAxis: { show: false }, yAxis: { show: false }, series } : {
      grid: grids,
      xAxis: grids.map((_, index) => time(index, index === grids.length - 1)),
      yAxis: [
        plumb.latencyAxis(look, 'time of slow I/Os', times, { gridIndex: 0 }),
        plumb.axis(look, look.narrow ? 'I/Os in flight' : 'I/Os\nin flight', plumb.units.count.axis, { gridIndex: 1, min: 0, nameGap: 44, splitNumber: 2 }),
      ].slice(0, grids.length),
      tooltip: { trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 }, formatter: (at) => plumb.said(at.name.split('\n')) },
      series: deep > 0 ? [...series, line] : series,
    }),
  });
};

// The bars of a kind of I/O below its name: the whole width is the time at that percentile.
plumb.partsKind = (data, kind, top, left, look, colour) => {
  const right = look.width - (look.narrow ? 74 : 110);
  const [bold, font, small] = [look.font(13, true), look.font(look.narrow ? 11 : 12), look.font(10.5)];
  const from = look.narrow ? 10 : left;
  const marks = [{ shape: plumb.text(from, top + plumb.partsHead / 2 + 4, plumb.fit(kind.label, look.width - from - 20, bold), bold, look.ink) }];
  kind.bars.forEach((bar, index) => {
    const y = top + plumb.partsHead + index * plumb.partsRow;
    const middle = y + plumb.partsRow / 2;
    marks.push({ shape: plumb.text(left - 10, middle, bar.label, font, look.ink, 'right') });
    marks.push({ shape: plumb.text(right + 10, middle, plumb.time(bar.time_ns), font, look.ink) });
    let x = left;
    bar.shares.forEach((share, part) => {
      const [name, wide] = [data.parts[part], share * (right - left)];
      if (wide >= 0.5) {
        const says = `${kind.label}, ${bar.label}: ${plumb.time(bar.time_ns)}\n${name}: ${plumb.time(share * bar.time_ns)} (${plumb.percent(share)})`;
        marks.push({ shape: plumb.rect(x, y + 3, Math.max(wide - 0.6, 0.5), plumb.partsRow - 6, colour(part)), says });
        if (plumb.wide(name, small) + 10 <= wide) marks.push({ shape: plumb.text(x + wide / 2, middle, name, small, plumb.inkOn(colour(part)), 'center') });
      }
      x += wide;
    });
  });
  return marks;
};
