//! Drawing a chart as SVG: ECharts in an embedded JavaScript engine, without a browser.

use crate::chart::{Chart, SHARED};
use crate::font::{FAMILY, Measure};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use serde::Serialize;

/// ECharts, at the version that `make charts` fetched.
pub(crate) const ECHARTS: &str = include_str!("../vendor/echarts.min.js");

/// What ECharts wants from a browser and does not get here. It draws at once, so nothing is ever due later.
const BROWSER: &str = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {};
    globalThis.plumb = { charts: {}, family: '', live: false };";

/// Draws one chart and forgets it.
const DRAW: &str = "(name, data, look) => {
    const figures = plumb.read(data);
    const chosen = plumb.sized(name, figures, JSON.parse(look));
    const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: chosen.width, height: chosen.height });
    chart.setOption({ animation: false, ...plumb.charts[name](figures, chosen) });
    const drawn = chart.renderToSVGString();
    chart.dispose();
    return drawn;
}";

/// Scripts that end; a chart that does not is stopped at this much memory.
const MEMORY: usize = 200 << 20;

/// How a picture is to look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Pixels.
    pub width: u32,
    /// Pixels; 0 for as many as the data needs.
    pub height: u32,
    /// Light or dark.
    pub theme: Theme,
    /// How latencies are spread, where a chart has a choice.
    pub scale: Scale,
    /// The lines of latency that are drawn.
    pub lines: Vec<Shown>,
    /// The latency to stay under, in nanoseconds, instead of the data's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ns: Option<f64>,
    /// Instead of the data's own title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// How an axis of latencies is spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Each factor of ten as long as the other.
    #[default]
    Log,
    /// From 0.
    Linear,
}

/// A line of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Shown {
    /// The mean.
    #[serde(rename = "avg")]
    Average,
    /// 95 %.
    #[serde(rename = "p95")]
    P95,
    /// 99 %.
    #[serde(rename = "p99")]
    P99,
    /// 99.99 %.
    #[serde(rename = "p99.99")]
    P9999,
    /// The slowest.
    #[serde(rename = "max")]
    Max,
}

impl Shown {
    /// All of them.
    pub const ALL: [Shown; 5] = [Shown::Average, Shown::P95, Shown::P99, Shown::P9999, Shown::Max];
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on black.
    Dark,
}

impl Look {
    /// The size at which a chart was designed.
    pub fn of(chart: &Chart) -> Look {
        let (width, height) = chart.size;
        let lines = Shown::ALL.to_vec();
        Look { width, height, theme: Theme::Light, scale: Scale::Log, lines, target_ns: None, title: None }
    }
}

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The engine or the library in it could not start.
    #[error("the drawing engine does not start: {0}")]
    Start(String),
    /// The chart's own code failed.
    #[error("chart `{chart}` cannot be drawn: {message}")]
    Chart {
        /// The chart's name.
        chart: &'static str,
        /// What the script said.
        message: String,
    },
    /// The data does not serialise.
    #[error("the data of chart `{chart}` cannot be written as JSON: {source}")]
    Data {
        /// The chart's name.
        chart: &'static str,
        /// Why.
        source: serde_json::Error,
    },
}

/// A JavaScript engine with ECharts and all charts loaded. Making one takes a tenth of a second, drawing half of that.
pub struct Easel {
    context: Context,
    _runtime: Runtime,
}

impl std::fmt::Debug for Easel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Easel")
    }
}

impl Easel {
    /// Starts the engine.
    ///
    /// # Errors
    /// When it does not start; with our own scripts that is a broken build or no memory.
    pub fn new() -> Result<Self, DrawError> {
        let start = |error: rquickjs::Error| DrawError::Start(error.to_string());
        let runtime = Runtime::new().map_err(start)?;
        runtime.set_memory_limit(MEMORY);
        let context = Context::full(&runtime).map_err(start)?;
        context.with(|ctx| load(&ctx)).map_err(DrawError::Start)?;
        Ok(Easel { context, _runtime: runtime })
    }

    /// Draws a chart as an SVG document of its own.
    ///
    /// # Errors
    /// When the data does not fit the chart.
    pub fn svg(&self, chart: &'static Chart, data: &impl Serialize, look: &Look) -> Result<String, DrawError> {
        let json = |source| DrawError::Data { chart: chart.name, source };
        let data = serde_json::to_string(data).map_err(json)?;
        let look = serde_json::to_string(look).map_err(json)?;
        let drawn = self.context.with(|ctx| {
            let draw = ctx.eval::<Function<'_>, _>(DRAW).catch(&ctx).map_err(|error| error.to_string())?;
            draw.call::<_, String>((chart.name, data, look)).catch(&ctx).map_err(|error| error.to_string())
        });
        drawn.map_err(|message| DrawError::Chart { chart: chart.name, message })
    }
}

/// Everything that a chart needs, in the order in which it builds upon each other.
fn load(ctx: &Ctx<'_>) -> Result<(), String> {
    let run = |source: &str| ctx.eval::<(), _>(source).catch(ctx).map_err(|error| error.to_string());
    run(BROWSER)?;
    run(ECHARTS)?;
    let measure = Measure::new().ok_or("the embedded typeface cannot be read")?;
    let width = Function::new(ctx.clone(), move |text: String, font: String| measure.width(&text, &font));
    let width = width.catch(ctx).map_err(|error| error.to_string())?;
    ctx.globals().set("plumbTextWidth", width).catch(ctx).map_err(|error| error.to_string())?;
    run("echarts.setPlatformAPI({ measureText: (text, font) => ({ width: plumbTextWidth(text, font || '') }) });")?;
    run(&format!("plumb.family = '{FAMILY}';"))?;
    SHARED.iter().copied().chain(crate::CHARTS.iter().map(|chart| chart.source)).try_for_each(run)
}
