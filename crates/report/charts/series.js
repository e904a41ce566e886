// A run over time: panels on one time axis that zoom and pan together, with the changes.
'use strict';

const seriesPanel = (look) => (look.onPaper ? 100 : 150);

plumb.heights.series = (data, look) => {
  const seriesLeft = plumb.left(look);
  const frame = plumb.frame(data, { ...look, height: 0 }, seriesLeft);
  const names = plumb.unique(data.panels.flatMap((panel) => panel.lines.map((line) => line.name)));
  return frame.top + plumb.legendHeight(names, look, seriesLeft) + 24 + data.panels.length * seriesPanel(look) + 46 + (plumb.live && !look.onPaper ? 40 : 0) + frame.below;
};

plumb.charts.series = (data, look) => {
  const seriesLeft = plumb.left(look);
  const frame = plumb.frame(data, look, seriesLeft);
  const names = plumb.unique(data.panels.flatMap((panel) => panel.lines.map((line) => line.name)));
  const top = frame.top + plumb.legendHeight(names, look, seriesLeft) + 24;
  const below = frame.below + 46 + (plumb.live && !look.onPaper ? 40 : 0);
  const each = (look.height - top - below) / Math.max(data.panels.length, 1);
  const all = data.panels.map((_, index) => index);
  const times = data.panels.flatMap((panel) => panel.lines.flatMap((line) => line.points.map((point) => point[0])));
  const [from, to] = times.reduce(([low, high], time) => [Math.min(low, time), Math.max(high, time)], [Infinity, -Infinity]);
  // From the beginning of the run, unless nothing is known of its first fifth.
  const begins = from > to / 5 ? from : 0;
  const range = Number.isFinite(from) ? { min: begins, max: to > begins ? to : begins + 1 } : { min: 0, max: 1 };
  const counted = data.ticks === 'reports';
  const seconds = (value) => (counted ? `report ${plumb.fixed(value)}` : `${+plumb.fixed(value, 3)} s`);
  // A mark's words stand over the first panel, as far as there is room.
  const width = look.width - seriesLeft - 40;
  const places = data.changes.map((change) => ({ at: ((change.at_s - range.min) / (range.max - range.min)) * width, change }));
  const worded = plumb.sparse(places, data.changes.some((change) => change.name) ? 120 : 60).map((place) => place.change);
  const mark = (index) => ({
    symbol: 'none', silent: true, animation: false,
    lineStyle: { color: look.alarm, type: [4, 3], width: 1.2 },
    data: data.changes.map((change) => ({
      xAxis: change.at_s,
      label: { show: index === 0 && worded.includes(change), formatter: `▼ ${seconds(change.at_s)} ${data.phases?.length ? '' : (change.name ?? '')}`.trim(), color: look.alarm, fontSize: 10, fontFamily: plumb.family, position: 'end' },
    })),
  });
  // A band for each phase: every other one is shaded, and all have their kind within the first panel, as far as there is room.
  const bands = data.phases ?? [];
  const area = (index) => ({
    silent: true, animation: false,
    data: bands.map((band, at) => [
      {
        xAxis: band.from_s, itemStyle: { color: look.ink, opacity: at % 2 === 0 ? 0.06 : 0 },
        label: {
          show: index === 0 && ((band.until_s - band.from_s) / (range.max - range.min)) * width > 7 * band.name.length,
          formatter: band.name, position: 'insideTop', color: look.ink, fontSize: 10, fontFamily: plumb.family,
        },
      },
      { xAxis: band.until_s },
    ]),
  });
  const series = data.panels.flatMap((panel, index) => panel.lines.map((line, place) => ({
    type: 'line', name: line.name, xAxisIndex: index, yAxisIndex: index, symbol: 'none', animation: false, sampling: 'lttb',
    // Of two directions, one is dashed.
    lineStyle: { width: 1.4, color: plumb.colourOfLine(line.name, names), type: /^(writes|trims) p/.test(line.name) ? [6, 3] : 'solid' },
    itemStyle: { color: plumb.colourOfLine(line.name, names) },
    data: line.points.map(([time, value]) => [time, panel.unit === 'latency' && !(value > 0) ? null : value]),
    ...(place === 0 ? { markLine: mark(index), ...(bands.length ? { markArea: area(index) } : {}) } : {}),
  })));
  const values = (panel) => panel.lines.flatMap((line) => line.points.map((point) => point[1]));
  return plumb.option(data, look, frame, {
    legend: plumb.legend(names, look, frame.top - 6, seriesLeft),
    tooltip: {
      trigger: 'axis', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
      formatter: (items) => plumb.said([
        seconds(items[0].axisValue),
        ...items.filter((item) => item.value[1] !== null).map((item) => `${data.panels[item.axisIndex].name}, ${item.seriesName}: ${plumb.units[data.panels[item.axisIndex].unit].says(item.value[1])}`),
      ]),
    },
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    dataZoom: plumb.live && !look.onPaper ? [{ type: 'inside', xAxisIndex: all }, { type: 'slider', xAxisIndex: all, height: 22, bottom: frame.below + 8, left: seriesLeft, right: 40 }] : [],
    grid: all.map((index) => ({ left: seriesLeft, right: 40, top: top + index * each, height: each - 22 })),
    xAxis: all.map((index) => plumb.axis(look, '', index === all.length - 1 ? seconds : () => '', {
      gridIndex: index, ...range, splitLine: { show: false },
      // The end of the run is no round number, and would stand upon the last one that is.
      axisLabel: { show: index === all.length - 1, color: look.ink, fontFamily: plumb.family, fontSize: 11, formatter: seconds, hideOverlap: true, showMaxLabel: false, showMinLabel: begins === 0 },
    })),
    yAxis: data.panels.map((panel, index) => {
      // A name that is longer than its panel is high stands in two lines.
      const said = look.narrow ? panel.name : plumb.wrap(panel.name, each - 30, look.font(11)).join('\n');
      const name = panel.unit === 'rate' ? `${panel.name}\n(MiB/s)` : said;
      const parts = { gridIndex: index, nameGap: name.includes('\n') ? 58 : 64, splitNumber: 3, nameTextStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 11, lineHeight: 14, width: each, overflow: 'truncate' } };
      if (panel.unit === 'latency') return plumb.latencyAxis(look, name, values(panel), parts);
      if (panel.unit === 'rate') return plumb.rateAxis(look, name, values(panel), parts);
      return plumb.axis(look, name, plumb.units[panel.unit].axis, { min: 0, ...(panel.unit === 'share' ? { max: 1, interval: 0.5 } : {}), ...parts });
    }),
    series,
  });
};
