//! Blocks that were sealed pass the check; blocks that were changed, moved, or are from an earlier write do not.

use super::*;
use plan::Pattern;

fn plan(method: VerifyMethod, interval: Option<u32>) -> VerifyPlan {
    VerifyPlan {
        method,
        interval,
        pattern: Pattern { bytes: vec![0xca, 0xfe, 0x01], offsets: Vec::new() },
        sequence: true,
        ..VerifyPlan::default()
    }
}

const METHODS: [VerifyMethod; 6] = [
    VerifyMethod::Digest(Digest::Crc32c),
    VerifyMethod::Digest(Digest::Sha512),
    VerifyMethod::Digest(Digest::Crc7),
    VerifyMethod::Meta,
    VerifyMethod::Pattern,
    VerifyMethod::PatternHeader,
];

fn sealed(method: VerifyMethod, interval: Option<u32>) -> (Verifier, Vec<u8>) {
    let verifier = Verifier::new(&plan(method, interval), 3, 99);
    let mut buffer = vec![0; 4096];
    verifier.seal(&mut buffer, 8192, 7, Nanos(1_500_000_000));
    (verifier, buffer)
}

#[test]
fn what_was_sealed_passes() {
    for method in METHODS {
        // 4090 leaves a remainder of 6 bytes, 1000 leaves 96, 8192 is larger than the buffer.
        for interval in [None, Some(512), Some(4090), Some(1000), Some(8192)] {
            let (verifier, mut buffer) = sealed(method, interval);
            let expected = Expected { offset: 8192, sequence: Some(7) };
            assert_eq!(verifier.check(&mut buffer, expected), Ok(()), "{method:?} {interval:?}");
        }
    }
}

#[test]
fn a_changed_payload_byte_is_named_with_its_block() {
    for method in METHODS.into_iter().filter(|method| *method != VerifyMethod::Meta) {
        let (verifier, mut buffer) = sealed(method, Some(1024));
        buffer[2048 + 700] ^= 0x10;
        let mismatch = verifier.check(&mut buffer, Expected { offset: 8192, sequence: Some(7) }).unwrap_err();
        assert_eq!(mismatch.offset, 8192 + 2048, "{method:?}");
    }
}

#[test]
fn a_rest_too_short_for_a_header_joins_the_piece_before_it() {
    let (verifier, mut buffer) = sealed(VerifyMethod::Digest(Digest::Crc32c), Some(4090));
    buffer[4095] ^= 1;
    assert!(verifier.check(&mut buffer, Expected { offset: 8192, sequence: Some(7) }).is_err());
}

#[test]
fn a_misplaced_or_stale_block_fails_by_its_header() {
    for method in METHODS.into_iter().filter(|method| *method != VerifyMethod::Pattern) {
        let (verifier, mut buffer) = sealed(method, None);
        let mut field = |expected| match verifier.check(&mut buffer, expected) {
            Err(Mismatch { fault: Fault::Header { field, .. }, .. }) => field,
            other => panic!("{method:?}: {other:?}"),
        };
        assert_eq!(field(Expected { offset: 4096, sequence: Some(7) }), "offset");
        assert_eq!(field(Expected { offset: 8192, sequence: Some(8) }), "numberio");
    }
}

#[test]
fn a_torn_header_fails_by_its_own_checksum() {
    let (verifier, mut buffer) = sealed(VerifyMethod::Meta, None);
    buffer[25] ^= 1;
    let mismatch = verifier.check(&mut buffer, Expected { offset: 8192, sequence: Some(7) }).unwrap_err();
    assert!(matches!(mismatch.fault, Fault::Header { field: "crc", .. }), "{mismatch:?}");
}

#[test]
fn random_payload_depends_on_offset_and_write() {
    let mut random = plan(VerifyMethod::Digest(Digest::Md5), None);
    random.pattern = Pattern::default();
    let verifier = Verifier::new(&random, 1, 5);
    let payload = |offset, sequence| {
        let mut buffer = vec![0; 512];
        verifier.seal(&mut buffer, offset, sequence, Nanos::ZERO);
        buffer.split_off(64)
    };
    assert_ne!(payload(0, 1), payload(512, 1));
    assert_ne!(payload(0, 1), payload(0, 2));
    assert_eq!(payload(0, 1), payload(0, 1));
}
