//! Native JSON format: encoding of `measure`'s fixed-layout types in a result file.

/// Schema number of the native result. It changes when readers of the old format would misread the new one.
pub const SCHEMA: u32 = 1;

/// Moments as an object. The 128-bit sums are decimal text, because JSON numbers have only 53 bits.
pub(crate) mod moments {
    use measure::Moments;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    struct Spelled {
        count: u64,
        minimum_ns: Option<u64>,
        maximum_ns: Option<u64>,
        sum_ns: String,
        sum_of_squares_ns2: String,
    }

    pub(crate) fn serialize<S: Serializer>(moments: &Moments, serializer: S) -> Result<S::Ok, S::Error> {
        let (count, minimum, maximum, sum, squares) = moments.parts();
        Spelled {
            count,
            minimum_ns: (count > 0).then_some(minimum),
            maximum_ns: (count > 0).then_some(maximum),
            sum_ns: sum.to_string(),
            sum_of_squares_ns2: squares.to_string(),
        }
        .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moments, D::Error> {
        let spelled = Spelled::deserialize(deserializer)?;
        let wide = |text: &str| text.parse::<u128>().map_err(D::Error::custom);
        let empty = Moments::new().parts();
        Ok(Moments::from_parts(
            spelled.count,
            spelled.minimum_ns.unwrap_or(empty.1),
            spelled.maximum_ns.unwrap_or(empty.2),
            wide(&spelled.sum_ns)?,
            wide(&spelled.sum_of_squares_ns2)?,
        ))
    }
}

/// A histogram as its non-empty buckets `[index, count]`.
pub(crate) mod histogram {
    use measure::Histogram;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        histogram: &Option<Box<Histogram>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        histogram.as_ref().map(|histogram| histogram.iter().collect::<Vec<_>>()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Histogram>>, D::Error> {
        let Some(buckets) = Option::<Vec<(usize, u64)>>::deserialize(deserializer)? else { return Ok(None) };
        let mut histogram = Box::new(Histogram::new());
        for (bucket, count) in buckets {
            if !histogram.add_to_bucket(bucket, count) {
                return Err(D::Error::custom(format!("histogram bucket {bucket} does not exist")));
            }
        }
        Ok(Some(histogram))
    }
}
