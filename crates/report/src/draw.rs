//! Draws charts as SVG with ECharts in an embedded JavaScript engine, without a browser.

use crate::batch;
use crate::chart::{Chart, SHARED};
use crate::font::{FAMILY, Measure};
use crate::packed::ECHARTS;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;

/// Browser functions that ECharts expects. The chart is drawn synchronously without animation, so timers never fire.
const BROWSER: &str = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {};
    globalThis.plumb = { charts: {}, family: '', live: false };";

/// Draws one chart and disposes of it, without the parts that only a browser needs, which take a quarter of the time.
/// The identifiers in the drawing begin with its number. A line of many points is handed over as an array of numbers,
/// of which ECharts makes no object per point.
const DRAW: &str = "(name, data, look, number) => {
    const plain = (one) => {
        if (one.type !== 'line' || one.data.length < 20 || !one.data.every(Array.isArray)) return one;
        const numbers = new Float64Array(2 * one.data.length);
        one.data.forEach(([x, y], at) => { numbers[2 * at] = x; numbers[2 * at + 1] = y ?? NaN; });
        return { ...one, data: numbers, dimensions: ['x', 'y'] };
    };
    const figures = plumb.read(data);
    const chosen = plumb.sized(name, figures, JSON.parse(look));
    const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: chosen.width, height: chosen.height });
    chart.getZr().painter._id = `zr${number}`;
    const { tooltip, aria, axisPointer, dataZoom, ...option } = plumb.charts[name](figures, chosen);
    const series = option.series.map((one) => ({ ...plain(one), silent: true, emphasis: { disabled: true } }));
    chart.setOption({ animation: false, ...option, series });
    const drawn = chart.getZr().painter.renderToString({ cssEmphasis: false, cssAnimation: false });
    chart.dispose();
    return drawn;
}";

/// Memory limit of the JavaScript engine in bytes; it stops a chart script that does not terminate.
const MEMORY: usize = 200 << 20;
/// Memory in use, in bytes, at which unreachable cycles are collected, whenever a chart begins: the engine by itself
/// looks for them each time that its memory has grown by half, also where that is little.
const COLLECTED_AT: usize = 32 << 20;

/// Pictures for which it is worth to start another engine, which takes as long as drawing some.
const WORTH_AN_ENGINE: usize = 8;

/// Appearance of a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Look {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels; `None` to derive it from the data.
    pub height: Option<u32>,
    /// Colour theme.
    pub theme: Theme,
    /// Scale of the latency axis, for charts that support both.
    pub scale: Scale,
    /// Screen or paper.
    pub medium: Medium,
    /// Latency lines to draw.
    pub lines: Vec<LatencySeries>,
    /// The latency target in nanoseconds, overriding that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ns: Option<f64>,
    /// Title, overriding that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Scale of a latency axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Logarithmic.
    #[default]
    Log,
    /// Linear, from 0.
    Linear,
}

/// Medium of a picture. On paper it is as low as it can be, so that pages are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// A screen, or a file of its size.
    #[default]
    Screen,
    /// A page of A4, with other pictures.
    Paper,
}

/// A latency line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LatencySeries {
    /// The mean.
    #[serde(rename = "avg")]
    Average,
    /// The 95th percentile.
    #[serde(rename = "p95")]
    P95,
    /// The 99th percentile.
    #[serde(rename = "p99")]
    P99,
    /// The 99.99th percentile.
    #[serde(rename = "p99.99")]
    P9999,
    /// The maximum.
    #[serde(rename = "max")]
    Max,
}

impl LatencySeries {
    /// All lines.
    pub const ALL: [LatencySeries; 5] =
        [LatencySeries::Average, LatencySeries::P95, LatencySeries::P99, LatencySeries::P9999, LatencySeries::Max];
}

/// Colour theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// Dark text on white.
    #[default]
    Light,
    /// Light text on black.
    Dark,
}

impl Look {
    /// The chart's default size and appearance.
    pub fn of(chart: &Chart) -> Look {
        let (width, height) = chart.size;
        Look { width, height, lines: LatencySeries::ALL.to_vec(), ..Look::default() }
    }
}

/// A picture, page or document cannot be made; the text says which, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DrawError(pub(crate) String);

/// A picture to be drawn.
#[derive(Clone, Debug)]
pub struct DrawRequest<'data> {
    /// The chart.
    pub chart: &'static Chart,
    /// Its data.
    pub data: &'data Value,
    /// Its appearance.
    pub look: Look,
}

/// A JavaScript engine with ECharts and all charts loaded. Creating one takes 0.1 s, drawing a chart a quarter of that.
pub struct ChartEngine {
    context: Context,
    runtime: Runtime,
}

impl ChartEngine {
    /// Starts the engine.
    ///
    /// # Errors
    /// The engine does not start; since the scripts are embedded, the build is broken or memory is exhausted.
    pub fn new() -> Result<Self, DrawError> {
        let runtime = Runtime::new().map_err(not_started)?;
        runtime.set_memory_limit(MEMORY);
        let context = Context::full(&runtime).map_err(not_started)?;
        context.with(|ctx| load(&ctx)).map_err(not_started)?;
        Ok(ChartEngine { context, runtime })
    }

    /// Draws a chart as a complete SVG document.
    ///
    /// # Errors
    /// The data does not fit the chart.
    pub fn svg(&self, chart: &'static Chart, data: &impl Serialize, look: &Look) -> Result<String, DrawError> {
        self.numbered(chart, data, look, 0)
    }

    /// Draws these pictures, on all processors if there are enough of them. Each is what [`ChartEngine::svg`] draws,
    /// with identifiers that no other one has, so that all of them can be in one document.
    ///
    /// # Errors
    /// The data of a picture does not fit its chart.
    pub fn all(&self, orders: &[DrawRequest<'_>]) -> Result<Vec<String>, DrawError> {
        let draw = |engine: &ChartEngine, number: usize, order: &DrawRequest<'_>| {
            engine.numbered(order.chart, order.data, &order.look, number)
        };
        let helpers = batch::helpers(orders.len() / WORTH_AN_ENGINE);
        batch::each(orders, helpers, self, || ChartEngine::new().ok(), draw).into_iter().collect()
    }

    fn numbered(
        &self,
        chart: &'static Chart,
        data: &impl Serialize,
        look: &Look,
        number: usize,
    ) -> Result<String, DrawError> {
        let json = |error| not_written(chart.name, &error);
        let data = serde_json::to_string(data).map_err(json)?;
        let look = serde_json::to_string(look).map_err(json)?;
        // A collection sets its own threshold for the next one.
        self.runtime.set_gc_threshold(COLLECTED_AT);
        let drawn = self.context.with(|ctx| {
            let draw = ctx.eval::<Function<'_>, _>(DRAW).catch(&ctx).map_err(|error| error.to_string())?;
            draw.call::<_, String>((chart.name, data, look, number)).catch(&ctx).map_err(|error| error.to_string())
        });
        drawn.map_err(|message| DrawError(format!("chart `{}` cannot be drawn: {message}", chart.name)))
    }
}

fn not_started(error: impl Display) -> DrawError {
    DrawError(format!("the drawing engine does not start: {error}"))
}

pub(crate) fn not_written(chart: &str, error: &serde_json::Error) -> DrawError {
    DrawError(format!("the data of chart `{chart}` cannot be written as JSON: {error}"))
}

/// Loads all scripts that a chart needs, in order of their dependencies.
fn load(ctx: &Ctx<'_>) -> Result<(), String> {
    let run = |source: &str| ctx.eval::<(), _>(source).catch(ctx).map_err(|error| error.to_string());
    run(BROWSER)?;
    run(&ECHARTS)?;
    let measure = Measure::new().ok_or("the embedded typeface cannot be read")?;
    let width = Function::new(ctx.clone(), move |text: String, font: String| measure.width(&text, &font));
    let width = width.catch(ctx).map_err(|error| error.to_string())?;
    ctx.globals().set("plumbTextWidth", width).catch(ctx).map_err(|error| error.to_string())?;
    run("echarts.setPlatformAPI({ measureText: (text, font) => ({ width: plumbTextWidth(text, font || '') }) });")?;
    run(&format!("plumb.family = '{FAMILY}';"))?;
    let charts = crate::CHARTS.iter().map(|chart| chart.source);
    SHARED.iter().copied().chain(charts).try_for_each(|script| run(&script.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::text;

    fn table(engine: &ChartEngine, name: &str) -> Vec<String> {
        let text =
            engine.context.with(|ctx| ctx.eval::<String, _>(format!("JSON.stringify(Object.values(plumb.{name}))")));
        serde_json::from_str(&text.unwrap()).unwrap()
    }

    #[test]
    fn a_script_rounds_as_the_sentences_do() {
        let engine = ChartEngine::new().unwrap();
        let run = |call: &str| engine.context.with(|ctx| ctx.eval::<String, _>(call)).unwrap();
        let others = [0.05, 1.005, 9.995, 72.499_999, 1e15, -2.5, -0.125, 0.0].into_iter();
        for number in others.chain((0..4000).map(|number| f64::from(number) / 16.0)) {
            for digits in 0..=3 {
                let scripted = run(&format!("plumb.fixed({number}, {digits})"));
                assert_eq!(scripted, format!("{number:.digits$}"), "{number} with {digits} decimals");
            }
        }
    }

    #[test]
    fn a_script_writes_numbers_as_the_sentences_do() {
        type Written = fn(f64) -> String;
        const BOTH: [(&str, Written); 10] = [
            ("number", text::number),
            ("time", text::time),
            ("size", text::rounded_size),
            ("rate", text::rate),
            ("count", text::short_number),
            ("percent", text::percent),
            ("chosenPercent", text::chosen_percent),
            ("signed", text::signed),
            ("times", |ratio| format!("×{}", text::number(ratio))),
            ("mebibytes", |rate| text::number(rate / f64::from(1 << 20))),
        ];
        let engine = ChartEngine::new().unwrap();
        let run = |call: &str| engine.context.with(|ctx| ctx.eval::<String, _>(call)).unwrap();
        // Edges of units and of digits, halves, shares next to none and all, and numbers of every size.
        let mut numbers = vec![
            0.0,
            f64::NAN,
            1.0 - 1e-12,
            0.999_97,
            0.000_04,
            0.000_004,
            0.995,
            999.5,
            1023.5,
            1e15,
            -2.5,
            -0.116,
            312.5,
        ];
        let mut words = measure::SplitMix::new(40);
        numbers.extend((0..500).map(|power| 10_f64.powf(f64::from(power % 20) - 6.0) * (1.0 + 9.0 * words.fraction())));
        numbers.extend((0..200).map(|sixteenths| f64::from(sixteenths) / 16.0));
        for (name, written) in BOTH {
            for number in &numbers {
                assert_eq!(run(&format!("plumb.{name}({number:?})")), written(*number), "{name} of {number:?}");
            }
        }
        assert_eq!(run("[plumb.tick(0), plumb.tick(250e3)].join()"), "0,250 µs");
    }

    /// The rounding of JavaScript itself goes up where that of the sentences goes to the even number.
    #[test]
    fn no_number_is_written_by_a_rounding_of_a_script_itself() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = ["charts", "page"].iter().flat_map(|place| std::fs::read_dir(root.join(place)).unwrap());
        let (mut scripts, mut found) = (0, Vec::new());
        for path in
            files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "js"))
        {
            let text = std::fs::read_to_string(&path).unwrap();
            scripts += 1;
            for line in text.lines() {
                let pixels = line.matches("px").count();
                let written = ["${Math.round(", "String(Math.round(", "grouped(Math.round("];
                let rounded = written.iter().map(|way| line.matches(way).count()).sum::<usize>();
                let fixed = line.matches("toFixed(").count() + line.matches("toPrecision(").count();
                if fixed > 0 || rounded > pixels {
                    found.push(format!("{}: {line}", path.file_name().unwrap().display()));
                }
            }
        }
        assert!(scripts > 15, "{scripts}");
        assert_eq!(found, ["text.js:   const text = Number(value).toFixed(digits);"]);
    }

    #[test]
    fn each_meaning_has_a_colour_that_no_other_has() {
        let engine = ChartEngine::new().unwrap();
        let mut all = table(&engine, "meanings");
        all.extend(table(&engine, "named"));
        assert_eq!(all.len(), 18);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 18);
        all.extend(table(&engine, "systems"));
        let seen = |colour: &String, paper: &str| {
            engine.context.with(|ctx| ctx.eval::<f64, _>(format!("plumb.contrast('{colour}', '{paper}')"))).unwrap()
        };
        for colour in &all {
            for paper in ["#ffffff", "#141a22"] {
                assert!(seen(colour, paper) >= 3.0, "{colour} on {paper}: {}", seen(colour, paper));
            }
        }
        let of = |name: &str, names: &str| {
            let call = format!("plumb.colourOfLine('{name}', {names})");
            engine.context.with(|ctx| ctx.eval::<String, _>(call)).unwrap()
        };
        // Whatever stands next to it.
        assert_eq!(of("reads", "['reads']"), of("reads", "['sda', 'writes', 'reads']"));
        assert_eq!(of("writes p99", "['reads p99', 'writes p99']"), of("p99", "['p99']"));
        assert_ne!(of("sda", "['sda', 'sdb']"), of("sdb", "['sda', 'sdb']"));
    }
}
