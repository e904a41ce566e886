// Throughput over file size and record size: a heat map with a number in each cell.
'use strict';

// From slow to fast; readable in grey, too.
plumb.heat = ['#f3f7fb', '#cfe1f2', '#93c4de', '#4a97c9', '#1764ab', '#08306b'];
plumb.heatOf = (share) => {
  const at = Math.min(Math.max(share, 0), 1) * (plumb.heat.length - 1);
  const [from, to] = [plumb.heat[Math.floor(at)], plumb.heat[Math.ceil(at)]];
  const mix = (place) => Math.round(parseInt(from.slice(place, place + 2), 16) * (1 - (at % 1)) + parseInt(to.slice(place, place + 2), 16) * (at % 1));
  return `#${[1, 3, 5].map((place) => mix(place).toString(16).padStart(2, '0')).join('')}`;
};

plumb.heights.surface = (data, look) => {
  const frame = plumb.frame(data, { ...look, height: 0 }, 48);
  return frame.top + 20 + Math.max(data.files.length, 3) * 36 + 62 + frame.below;
};

plumb.charts.surface = (data, look) => {
  const frame = plumb.frame(data, look, 48);
  const [left, right, top] = look.narrow ? [74, look.width - 12, frame.top + 12] : [130, look.width - 120, frame.top + 12];
  const bottom = look.height - frame.below - 58;
  const [wide, high] = [(right - left) / Math.max(data.records.length, 1), (bottom - top) / Math.max(data.files.length, 1)];
  const rates = data.rates.flat().filter((rate) => typeof rate === 'number');
  const most = Math.max(...rates, 1);
  const marks = [];
  // The smallest file at the bottom, as on an axis.
  data.files.forEach((file, row) => {
    const y = bottom - (row + 1) * high;
    marks.push({ shape: plumb.text(left - 10, y + high / 2, file, look.font(11), look.ink, 'right') });
    data.records.forEach((record, column) => {
      const rate = data.rates[row][column];
      const x = left + column * wide;
      if (typeof rate !== 'number') {
        marks.push({ shape: plumb.rect(x + 1, y + 1, wide - 2, high - 2, look.line) });
        return;
      }
      const fill = plumb.heatOf(rate / most);
      marks.push({ shape: { ...plumb.rect(x + 1, y + 1, wide - 2, high - 2, fill, plumb.filled(fill, look)), name: 'cell' }, says: `file ${file}, record ${record}\n${plumb.rate(rate)}` });
      const text = plumb.mebibytes(rate);
      const font = look.font(wide < 44 ? 8 : wide < 56 ? 9 : 11);
      if (plumb.wide(text, font) + 4 <= wide) marks.push({ shape: { ...plumb.text(x + wide / 2, y + high / 2, text, font, plumb.inkOn(fill), 'center'), silent: true } });
    });
  });
  const turned = data.records.some((record) => plumb.wide(record, look.font(11)) + 6 > wide);
  data.records.forEach((record, column) => {
    const font = look.font(turned ? 9 : 11);
    marks.push({ shape: plumb.text(left + (column + 0.5) * wide, bottom + 14 + (turned && column % 2 ? 12 : 0), plumb.fit(record, turned ? wide * 2 - 4 : wide, font), font, look.ink, 'center') });
  });
  marks.push({ shape: plumb.text(look.narrow ? right : (left + right) / 2, bottom + 42, look.narrow ? 'record size →' : 'record size', look.font(look.narrow ? 10 : 11.5), look.ink, look.narrow ? 'right' : 'center') });
  if (look.narrow) marks.push({ shape: plumb.text(10, bottom + 42, 'file size ↑ (MiB/s)', look.font(10), look.ink) });
  else marks.push({ shape: { ...plumb.text(0, 0, 'file size', look.font(11.5), look.ink, 'center'), x: 38, y: (top + bottom) / 2, rotation: Math.PI / 2 } });
  // The key: the same ramp, from 0 to the highest.
  const steps = 24;
  for (let step = 0; !look.narrow && step < steps; step += 1) {
    const y = bottom - ((step + 1) / steps) * (bottom - top);
    marks.push({ shape: plumb.rect(right + 24, y, 10, (bottom - top) / steps + 0.5, plumb.heatOf((step + 0.5) / steps), plumb.filled(plumb.heatOf((step + 0.5) / steps), look)) });
  }
  if (!look.narrow) for (const part of [0, 0.5, 1]) marks.push({ shape: plumb.text(right + 40, bottom - part * (bottom - top), part === 0 ? '0' : plumb.mebibytes(most * part), look.font(10), look.soft) });
  if (!look.narrow) marks.push({ shape: plumb.text(right + 24, bottom + 14, 'MiB/s', look.font(10), look.soft) });
  frame.marks.push(...marks);
  return plumb.option(data, look, frame, { tooltip: { trigger: 'item', confine: true }, series: [] });
};
