// Numbers as text, by the rules of `measure::text`: three significant digits, no zeros at the end, the unit that fits. A test compares the
// two.

// A number with this many decimals; halfway between two of them to the even one, as the sentences (Rust) and fio (C) round. A number is
// halfway if it is an odd number of halves of the last place that binary knows, and then the script's own rounding went up.
plumb.fixed = (value, digits = 0) => {
  const text = Number(value).toFixed(digits);
  const isHalfway = (Math.abs(value) * 2 ** (digits + 1)) % 2 === 1;
  return isHalfway ? text.replace(/[13579]$/, (digit) => digit - 1) : text;
};

// A number with at most this many decimals.
const rounded = (value, digits) => {
  const text = plumb.fixed(value, digits);
  const short = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return short === '-0' ? '0' : short;
};

// A whole number with its thousands apart: `73,634`. (The embedded engine has no locales.)
const grouped = (value) => plumb.fixed(value).replace(/\B(?=(\d{3})+$)/g, ',');

// A number: `0.0841`, `7.5`, `73.6`, `73,634`; a dash for what is none.
plumb.number = (value) => {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  const digits = size < 0.09995 ? 4 : size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return digits > 0 ? rounded(value, digits) : grouped(value);
};

const scaled = (value, step, units) => {
  let [rest, unit] = [value, 0];
  for (; Math.abs(rest) >= step - 0.5 && unit + 1 < units.length; unit += 1) rest /= step;
  return `${plumb.number(rest)} ${units[unit]}`;
};

// A time: `84.1 µs`, `1 ms`, `2.16 s`.
plumb.time = (ns) => scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);

// A time on an axis.
plumb.tick = (ns) => (ns === 0 ? '0' : plumb.time(ns));

// A size: `4 KiB`, `1.25 GiB`.
plumb.size = (bytes) => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);

// A throughput: `575 MiB/s`; and without its unit, in MiB/s, for axes and where there is little room.
plumb.rate = (bytes) => scaled(bytes, 1024, ['B/s', 'KiB/s', 'MiB/s']);
plumb.mebibytes = (bytes) => plumb.number(bytes / 1048576);

// A large number, shortly: `945`, `18.9k`, `1.2M`.
plumb.count = (value) => scaled(value, 1000, ['', 'k', 'M', 'G']).replace(' ', '');

// A share of one: `63 %`, `0.46 %`, `99.97 %`. It is 0 or 100 only if it is none or all.
plumb.percent = (share) => {
  const [percent, noise] = [share * 100, 1e-9];
  const size = Math.abs(percent);
  if (size < noise) return '0 %';
  if (size < 0.0005) return '< 0.001 %';
  if (size >= 100 - noise) return `${grouped(percent)} %`;
  const digits = size < 0.0995 ? 3 : size < 0.995 ? 2 : size < 9.95 ? 1 : size < 99.5 ? 0 : size < 99.95 ? 1 : 2;
  return `${rounded(Math.min(Math.max(percent, -99.99), 99.99), digits)} %`;
};

// A share that was chosen: `5 %`, `0.25 %`.
plumb.chosenPercent = (share) => `${rounded(share * 100, 2)} %`;

// A difference in percent, always with one decimal: `−11.6`, `+5.0`, `0.0`, `> 999`.
plumb.signed = (percent) => {
  if (percent > 999) return '> 999';
  const digits = plumb.fixed(Math.abs(percent), 1);
  return `${digits === '0.0' ? '' : percent < 0 ? '−' : '+'}${digits}`;
};

// A ratio: `×3.58`.
plumb.times = (ratio) => `×${plumb.number(ratio)}`;

