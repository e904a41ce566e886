//! Metrics of runs as OTLP (OpenTelemetry): the families of [`openmetrics`](crate::openmetrics) as protobuf.
//!
//! Sums are cumulative, since each run began: what a message lost, the next one has. Names are those of Prometheus
//! without `_total`, which a Prometheus that receives OTLP adds.

use crate::openmetrics::{FAMILIES, RunMetrics, Sample};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

/// An export request with all numbers as they are now. `resource` says who sends it: `service.name`, `host.name`.
pub fn request<'runs>(
    runs: impl IntoIterator<Item = &'runs RunMetrics>,
    resource: &[(&'static str, String)],
    program: &str,
) -> Vec<u8> {
    let mut points: Vec<Points> = FAMILIES.iter().map(|_| Points::default()).collect();
    for run in runs {
        let began = run.began_unix_ms * 1_000_000;
        let times = [began, began + run.until.get()];
        let samples = run.samples(None);
        for of_one in samples.chunk_by(|one, other| (one.family, &one.labels) == (other.family, &other.labels)) {
            points[of_one[0].family].add(of_one, times);
        }
    }
    let metrics = FAMILIES.iter().zip(points).filter_map(|(family, points)| {
        Some(Metric {
            name: family.name.to_owned(),
            description: family.help.to_owned(),
            unit: unit(family.name).to_owned(),
            data: Some(points.data(family.kind)?),
            ..Metric::default()
        })
    });
    let scope = InstrumentationScope { name: "plumb".into(), version: program.to_owned(), ..Default::default() };
    let scope = ScopeMetrics { scope: Some(scope), metrics: metrics.collect(), ..Default::default() };
    let attributes = resource.iter().map(|(name, value)| attribute(name, value)).collect();
    let resource = Resource { attributes, ..Resource::default() };
    let of_this = ResourceMetrics { resource: Some(resource), scope_metrics: vec![scope], ..Default::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![of_this] }.encode_to_vec()
}

/// The unit of a family, as UCUM writes it.
fn unit(name: &str) -> &'static str {
    match name {
        _ if name.ends_with("_bytes") => "By",
        _ if name.ends_with("_seconds") => "s",
        _ if name.ends_with("_ratio") => "1",
        _ => "",
    }
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

#[derive(Default)]
struct Points {
    numbers: Vec<NumberDataPoint>,
    histograms: Vec<HistogramDataPoint>,
}

impl Points {
    /// Adds the samples of one series: one number, or the buckets, sum and count of a histogram.
    fn add(&mut self, samples: &[Sample], [start_time_unix_nano, time_unix_nano]: [u64; 2]) {
        let attributes: Vec<KeyValue> = samples[0].labels.iter().map(|(name, value)| attribute(name, value)).collect();
        let count = |sample: &Sample| sample.value.parse::<u64>().unwrap_or(0);
        let of = |suffix: &'static str| samples.iter().filter(move |sample| sample.suffix == suffix);
        let Some(total) = of("_count").next().map(count) else {
            let value = &samples[0].value;
            let exact = value.parse::<i64>().map(number_data_point::Value::AsInt);
            let value = exact.or_else(|_| value.parse().map(number_data_point::Value::AsDouble)).ok();
            let point =
                NumberDataPoint { attributes, start_time_unix_nano, time_unix_nano, value, ..Default::default() };
            self.numbers.push(point);
            return;
        };
        let cumulated: Vec<u64> = of("_bucket").map(count).collect();
        let before = std::iter::once(0).chain(cumulated.iter().copied());
        self.histograms.push(HistogramDataPoint {
            attributes,
            start_time_unix_nano,
            time_unix_nano,
            count: total,
            sum: of("_sum").next().and_then(|sample| sample.value.parse().ok()),
            bucket_counts: cumulated.iter().zip(before).map(|(now, before)| now - before).collect(),
            // The last bucket has no bound.
            explicit_bounds: of("_bucket")
                .filter_map(|sample| sample.bound.as_ref()?.parse::<f64>().ok().filter(|bound| bound.is_finite()))
                .collect(),
            ..Default::default()
        });
    }

    /// The family as OTLP has it; `None` without numbers.
    fn data(self, kind: &str) -> Option<metric::Data> {
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        if !self.histograms.is_empty() {
            return Some(metric::Data::Histogram(Histogram { data_points: self.histograms, aggregation_temporality }));
        }
        let data_points = Some(self.numbers).filter(|numbers| !numbers.is_empty())?;
        Some(match kind {
            "counter" => metric::Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true }),
            _ => metric::Data::Gauge(Gauge { data_points }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use model::{Interval, LatencyCounts, Monitored};

    #[test]
    fn a_request_has_sums_gauges_and_histograms_with_their_times() {
        let mut histogram = measure::Histogram::new();
        for (ns, count) in [(100_000, 3), (3_000_000, 1)] {
            histogram.record_many(Nanos(ns), count);
        }
        let latencies = LatencyCounts::gained(&histogram, &measure::Histogram::new());
        let mut run = RunMetrics::new("1", "a", vec![("engine", "psync".to_owned())]);
        let monitored = Monitored { began_unix_ms: 1_700_000_000_123, ..Monitored::default() };
        run.interval(
            &monitored,
            &Interval {
                until: Nanos::from_millis(500),
                bytes: [16_384, 0, 0],
                ios: [4, 0, 0],
                latencies: [latencies, LatencyCounts::default(), LatencyCounts::default()],
                ..Interval::default()
            },
        );
        let bytes = request([&run], &[("service.name", "plumb".to_owned())], "0.1.0");
        let found = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let resource = &found.resource_metrics[0];
        assert_eq!(resource.resource.as_ref().unwrap().attributes[0].key, "service.name");
        let metrics = &resource.scope_metrics[0].metrics;
        let named = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap();
        let Some(metric::Data::Sum(sum)) = &named("plumb_io_bytes").data else { panic!("a sum") };
        assert!(sum.is_monotonic && named("plumb_io_bytes").unit == "By");
        let read = &sum.data_points[0];
        assert_eq!(read.value, Some(number_data_point::Value::AsInt(16_384)));
        assert_eq!(
            [read.start_time_unix_nano, read.time_unix_nano],
            [1_700_000_000_123_000_000, 1_700_000_000_623_000_000]
        );
        assert_eq!(read.attributes.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["run", "job", "direction"]);
        let Some(metric::Data::Histogram(times)) = &named("plumb_io_latency_seconds").data else {
            panic!("a histogram")
        };
        let [times] = &times.data_points[..] else { panic!("of the reads alone") };
        assert_eq!((times.count, times.bucket_counts.iter().sum::<u64>()), (4, 4));
        assert_eq!(times.bucket_counts.len(), times.explicit_bounds.len() + 1);
        let below = times.explicit_bounds.iter().position(|&bound| bound > 0.0001).unwrap();
        assert_eq!(times.bucket_counts[below], 3, "{times:?}");
        assert!(matches!(named("plumb_run_state").data, Some(metric::Data::Gauge(_))));
        assert!(metrics.iter().all(|metric| metric.name != "plumb_io_errors"), "nothing is known of errors yet");
    }
}
