//! Tests of grades, their bounds and missing grades.

use super::*;

fn row(name: &str, block: u64, users: u32, mean_ms: f64, p95_ms: f64) -> Measurement {
    let mut row = Measurement {
        test: name.into(),
        users: Some(f64::from(users)),
        block: Some((block, block)),
        mean_ns: Some(mean_ms * 1e6),
        iops: Some(f64::from(users) * 1000.0 / mean_ms),
        ..Measurement::default()
    };
    row.percentiles_ns[0] = Some(p95_ms * 1e6);
    row
}

fn mark(rows: &[Measurement], metric: usize) -> (Mark, Mark) {
    let card = card("x", rows, profile("oracle-2012").unwrap());
    let marks = &card.lines[0].marks[metric];
    (marks.latency.clone(), marks.scaling.clone())
}

#[test]
fn a_value_on_a_bound_has_the_better_grade() {
    let bounds = &profile("oracle-2012").unwrap().tests[0].bounds_ms;
    for (value, grade) in [(0.0, "A+"), (2.0, "A+"), (2.001, "A"), (14.0, "C-"), (14.001, "D"), (1e9, "D")] {
        assert_eq!(grade_of(value, bounds), grade, "{value}");
    }
}

#[test]
fn no_scaling_at_all_is_a_d_whatever_the_step() {
    for users in [2.0, 4.0, 8.0] {
        assert_eq!(grade_of(queueing(users, users), &SCALING), "D");
        assert_eq!(grade_of(queueing(1.0, users), &SCALING), "A+");
    }
    let rows = [row("randread", 8192, 16, 5.0, 8.0), row("randread", 8192, 32, 10.0, 9.6)];
    let graded = |grade, value| Mark::Graded { grade, value };
    assert_eq!(mark(&rows, 0), (graded("A-", 5.0), graded("D", 1.0)));
    let (latency, scaling) = mark(&rows, 1);
    assert_eq!(latency, graded("B", 8.0));
    assert!(matches!(scaling, Mark::Graded { grade: "A-", value } if (value - 0.2).abs() < 1e-9), "{scaling:?}");
}

#[test]
fn idle_users_get_a_question_mark_and_the_reason() {
    let mut rows = [row("randread", 8192, 16, 5.0, 8.0), row("randread", 8192, 32, 10.0, 9.6)];
    rows[1].iops = rows[1].iops.map(|iops| iops / 2.0);
    let (latency, scaling) = mark(&rows, 0);
    assert!(matches!(latency, Mark::Graded { .. }));
    let Mark::Unknown { reason } = scaling else { panic!("{scaling:?}") };
    assert_eq!(reason, "IOPS × latency says that 16.0 of 32 users were busy");
}

#[test]
fn what_is_missing_is_named() {
    let reason = |mark: Mark| match mark {
        Mark::Unknown { reason } => reason,
        Mark::Graded { .. } => panic!("{mark:?}"),
    };
    let rows = [row("randread", 8192, 16, 5.0, 8.0)];
    assert_eq!(reason(mark(&rows, 0).1), "there is no run of randread 8K by 32");
    assert!(reason(mark(&rows, 2).0).starts_with("the result has no 99 % percentile: there were too few I/Os"));
    assert_eq!(reason(mark(&[], 0).0), "there is no run of randread 8K by 16");
}

#[test]
fn bounds_of_every_profile_ascend() {
    for test in PROFILES.iter().flat_map(|profile| &profile.tests) {
        assert!(test.bounds_ms.windows(2).all(|pair| pair[0] < pair[1]), "{test:?}");
    }
}

#[test]
fn where_the_tester_was_the_limit_nothing_is_graded() {
    let mut rows = [row("randread", 8192, 16, 5.0, 8.0), row("randread", 8192, 32, 10.0, 9.6)];
    rows[1].no_grade = Some("the tester was the limit: the processors were full".into());
    let (latency, scaling) = mark(&rows, 1);
    assert!(matches!(latency, Mark::Graded { grade: "B", .. }), "{latency:?}");
    assert_eq!(
        scaling,
        Mark::Unknown { reason: "by 32 users the tester was the limit: the processors were full".into() }
    );
    rows[0].no_grade = rows[1].no_grade.clone();
    assert_eq!(
        mark(&rows, 1).0,
        Mark::Unknown { reason: "by 16 users the tester was the limit: the processors were full".into() }
    );
}

#[test]
fn the_profile_is_that_of_the_device() {
    let disk = |name: &str, rotational| Disk { name: name.into(), rotational, model: None };
    let of = |disks: &[Disk]| {
        let chosen = profile_of(disks);
        (chosen.profile.name, chosen.reason.unwrap())
    };
    assert_eq!(of(&[disk("nvme0n1", None)]), ("nvme-2026", "nvme0n1 is NVMe flash".into()));
    assert_eq!(of(&[disk("sda", Some(false)), disk("sdb", Some(false))]), ("ssd-2026", "sda, sdb are flash".into()));
    assert_eq!(of(&[disk("sda", Some(true))]), ("oracle-2012", "sda is a rotating disk".into()));
    // A virtual disk reports what its driver says of itself.
    let named = |name: &str, model: &str| Disk { model: Some(model.into()), ..disk(name, Some(true)) };
    for open in [
        disk("vda", Some(true)),
        disk("loop0", Some(false)),
        named("sda", "QEMU HARDDISK"),
        named("nvme1n1", "Amazon Elastic Block Store"),
        named("sdb", "Virtual Disk"),
    ] {
        let words = format!("{} is virtual, so the kind of what stores the bytes is not known", open.name);
        assert_eq!(of(&[open]), ("oracle-2012", words));
    }
    assert_eq!(of(&[named("nvme1n1", "Amazon EC2 NVMe Instance Storage")]).0, "nvme-2026");
    assert_eq!(of(&[disk("sda", None)]), ("oracle-2012", "sda is of a kind that is not known".into()));
    let several = [disk("sda", Some(false)), disk("vda", Some(false))];
    assert_eq!(of(&several), ("oracle-2012", "sda, vda are of several kinds".into()));
    assert_eq!(of(&[]), ("oracle-2012", "the disk is of a kind that is not known".into()));
    assert_eq!(
        profile_of(&[disk("sda", Some(false))]).because().as_deref(),
        Some("Profile ssd-2026, because sda is flash; --profile chooses another.")
    );
}

#[test]
fn a_sweep_over_depth_is_graded_like_one_over_users() {
    let deep = |depth: f64, mean_ms: f64| {
        let row = row("randread", 8192, 1, mean_ms, 2.0 * mean_ms);
        Measurement { depth: Some(depth), iops: Some(1000.0 * depth / mean_ms), ..row }
    };
    let rows = [deep(1.0, 0.5), deep(16.0, 1.5), deep(32.0, 3.1)];
    let marks = |rows: &[Measurement]| card("disk", rows, &PROFILES[0]).lines[0].marks[0].clone();
    let found = marks(&rows);
    assert_eq!(found.latency, Mark::Graded { grade: "A+", value: 1.5 });
    assert!(matches!(found.scaling, Mark::Graded { .. }), "{found:?}");
    // A run with as many users counts first, whatever the depth of another.
    let users = row("randread", 8192, 16, 3.0, 6.0);
    let mixed = [&[users][..], &rows].concat();
    assert_eq!(marks(&mixed).latency, Mark::Graded { grade: "A", value: 3.0 });
    // A depth that was not reached is named.
    let idle = Measurement { iops: Some(1000.0), ..deep(16.0, 1.5) };
    assert!(matches!(marks(&[idle]).latency, Mark::Unknown { reason } if reason.contains("1.5 of 16 users")));
}

fn grades(workload: &str, latency: &str, scaling: &str) -> WorkloadGrades {
    let letter = |text: &str| (text != "?").then(|| text.to_owned());
    WorkloadGrades { workload: workload.to_owned(), latency: letter(latency), scaling: letter(scaling) }
}

#[test]
fn the_verdict_groups_workloads_and_counts_what_is_open() {
    let rows = [grades("index lookups", "A+", "D"), grades("full scans", "A", "?"), grades("commits", "B-", "?")];
    assert_eq!(
        verdict(&rows),
        [
            "Latency: good (A+, A) for index lookups and full scans; fair (B-) for commits.",
            "Scaling: saturated (D) for index lookups; 2 of 3 not graded."
        ]
    );
}

#[test]
fn all_alike_is_said_once_and_nothing_says_nothing() {
    assert_eq!(verdict(&[grades("a", "A+", "?"), grades("b", "A-", "?")])[0], "Latency: good (A+, A-) for both.");
    let one = verdict(&[grades("a", "A", "?")]);
    assert_eq!(one, ["Latency: good (A).", "Scaling: not graded, for the reasons below."]);
    assert_eq!(verdict(&[]), Vec::<String>::new());
}
