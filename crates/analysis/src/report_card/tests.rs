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
    let card = card("x", rows, profile("oracle-2012"));
    let marks = &card.lines[0].marks[metric];
    (marks.latency.clone(), marks.scaling.clone())
}

#[test]
fn a_value_on_a_bound_has_the_better_grade() {
    let bounds = &profile("oracle-2012").unwrap().bounds_ms(0, 8192, 16.0);
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
        other => panic!("{other:?}"),
    };
    let rows = [row("randread", 8192, 16, 5.0, 8.0)];
    assert_eq!(reason(mark(&rows, 0).1), "there is no run of random read 8K by 16 to 64 users");
    assert!(reason(mark(&rows, 2).0).starts_with("the result has no 99 % percentile: there were too few I/Os"));
    assert_eq!(reason(mark(&[], 0).0), "there is no run of random read 2K to 32K by 8 to 32 users");
}

#[test]
fn bounds_of_every_profile_ascend_at_every_size() {
    for profile in PROFILES {
        for (at, test) in TESTS.iter().enumerate() {
            for size in [test.fits.0, test.block_bytes, test.fits.1] {
                let bounds = profile.bounds_ms(at, size, test.users.into());
                let ascend = bounds[0] > 0.0 && bounds.windows(2).all(|pair| pair[0] < pair[1]);
                assert!(ascend, "{} {test:?} {bounds:?}", profile.name);
            }
        }
    }
}

/// A log write of 8K lies between those of 1K and 128K, by its bytes.
#[test]
fn bounds_of_a_block_size_lie_on_the_line_of_its_test() {
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
    let [oracle, ssd, nvme] = ["oracle-2012", "ssd-2026", "nvme-2026"].map(|name| profile(name).unwrap());
    let a_plus = |profile: &Profile, test: usize, size: u64, users: f64| profile.bounds_ms(test, size, users)[0];
    near(a_plus(oracle, 2, 1024, 4.0), 0.2);
    near(a_plus(oracle, 3, 128 << 10, 4.0), 2.0);
    near(a_plus(oracle, 2, 8192, 4.0), 0.2 + 7.0 / 127.0 * 1.8);
    // A rotating disk needs as long for any small random read, and twice as long for twice the bytes in sequence.
    near(a_plus(oracle, 0, 4096, 16.0), 2.0);
    near(a_plus(oracle, 1, 2 << 20, 1.0), 24.0);
    // Flash: the transfer of 16 blocks of 4K less, at 550 MB/s and at 3 GB/s.
    near(a_plus(ssd, 0, 4096, 16.0), 0.3 - 1000.0 * 65536.0 / 550e6);
    near(a_plus(nvme, 0, 4096, 16.0), 0.12 - 1000.0 * 65536.0 / 3e9);
    // Fewer users have as much less time, more have no more.
    near(a_plus(oracle, 0, 8192, 8.0), 1.0);
    near(a_plus(oracle, 0, 8192, 32.0), 2.0);
}

#[test]
fn the_nearest_run_is_graded_and_named() {
    let commits = |rows: &[Measurement]| card("x", rows, profile("oracle-2012")).lines[2].clone();
    let rows = [row("write", 8192, 1, 0.1, 0.2), row("write", 8192, 4, 0.25, 0.3), row("write", 8192, 16, 0.5, 0.6)];
    let line = commits(&rows);
    assert_eq!((line.test.as_str(), line.users, line.more_users), ("log write 8K", 4, 16));
    assert_eq!(line.marks[0].latency, Mark::Graded { grade: "A+", value: 0.25 });
    assert!(matches!(line.marks[0].scaling, Mark::Graded { grade: "B-", .. }), "{line:?}");
    // The size comes before the last of the runs, and both users are of one size.
    let both = [&rows[..], &[row("write", 4096, 4, 0.22, 0.3)]].concat();
    let line = commits(&both);
    assert_eq!((line.test.as_str(), line.block_bytes, line.more_users), ("log write 4K", Some(4096), 16));
    assert!(matches!(&line.marks[0].scaling, Mark::Unknown { reason } if reason.contains("log write 4K by 8 to 32")));
    // A run that is too far away does not fit.
    let far = [row("write", 8192, 1, 0.1, 0.2), row("write", 48 << 10, 4, 0.3, 0.4), row("write", 8192, 64, 2.0, 3.0)];
    let line = commits(&far);
    assert_eq!(
        (line.test.as_str(), line.missing()),
        ("log write 512B to 32K by 2 to 8 users", Some("log write 512B to 32K by 2 to 8 users"))
    );
    // Bulk commits are graded where they were measured, and not asked for elsewhere.
    let lines = card("x", &[row("write", 131_072, 4, 3.0, 3.5)], profile("oracle-2012")).lines;
    assert_eq!(lines[3].test, "log write 128K");
    assert_eq!(card("x", &rows, None).lines[3].missing(), None);
}

#[test]
fn without_a_profile_there_are_numbers_without_grades() {
    let rows = [row("randread", 8192, 16, 5.0, 8.0), row("randread", 8192, 32, 10.0, 9.6)];
    let card = card("x", &rows, None);
    assert_eq!((card.profile, card.without_grades()), (None, None));
    assert_eq!(card.lines[0].marks[0].latency, Mark::Measured { value: 5.0 });
    assert_eq!(card.lines[0].marks[0].scaling, Mark::Graded { grade: "D", value: 1.0 });
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
        let chosen = profile_of(disks, &[]);
        (chosen.profile.map(|profile| profile.name), chosen.reason.unwrap())
    };
    assert_eq!(of(&[disk("nvme0n1", None)]), (Some("nvme-2026"), "nvme0n1 is NVMe flash".into()));
    let two = [disk("sda", Some(false)), disk("sdb", Some(false))];
    assert_eq!(of(&two), (Some("ssd-2026"), "sda, sdb are flash".into()));
    assert_eq!(of(&[disk("sda", Some(true))]), (Some("oracle-2012"), "sda is a rotating disk".into()));
    // A virtual disk reports what its driver says of itself.
    let named = |name: &str, model: &str| Disk { model: Some(model.into()), ..disk(name, Some(true)) };
    let open = "no random read by 1 user shows what it does";
    for disk in [
        disk("vda", Some(true)),
        disk("loop0", Some(false)),
        disk("rbd0", Some(false)),
        named("sda", "QEMU HARDDISK"),
        named("nvme0n1", "ORCL-VBOX-NVME-VER12"),
        named("nvme1n1", "Amazon Elastic Block Store"),
        named("sdb", "Virtual Disk"),
    ] {
        let words = format!("{} is virtual, and {open}", disk.name);
        assert_eq!(of(&[disk]), (None, words));
    }
    assert_eq!(of(&[named("nvme1n1", "Amazon EC2 NVMe Instance Storage")]).0, Some("nvme-2026"));
    assert_eq!(of(&[disk("sda", None)]), (None, format!("sda is of a kind that is not known, and {open}")));
    let several = [disk("sda", Some(false)), disk("vda", Some(false))];
    assert_eq!(of(&several), (None, format!("sda, vda are of several kinds, and {open}")));
    assert_eq!(of(&[]), (None, format!("the disk is of a kind that is not known, and {open}")));
    assert_eq!(
        profile_of(&two[..1], &[]).because().as_deref(),
        Some("Profile ssd-2026, because sda is flash; --profile chooses another.")
    );
}

/// The latency of one random read says flash, a network or a rotating disk; a rate says more than SATA.
#[test]
fn a_virtual_disk_is_what_it_does() {
    let disks = [Disk { name: "vda".into(), ..Disk::default() }];
    let of = |rows: &[Measurement]| {
        let chosen = profile_of(&disks, rows);
        (chosen.profile.map(|profile| profile.name), chosen.reason.unwrap().replace("vda is virtual, and ", ""))
    };
    let read = |users: u32, mean_ms: f64| Measurement {
        bytes_per_second: Some(f64::from(users) * 8192e3 / mean_ms),
        ..row("randread", 8192, users, mean_ms, 2.0 * mean_ms)
    };
    for (rows, profile, words) in [
        (
            vec![read(1, 0.12)],
            Some("ssd-2026"),
            "flash behind SATA does: random read 8K takes 120 µs by 1 user, and no",
        ),
        (
            vec![read(1, 0.09), read(64, 0.4)],
            Some("nvme-2026"),
            "by 64 users moves 1,250 MiB/s, more than flash behind",
        ),
        (vec![read(8, 0.2)], Some("ssd-2026"), "takes 200 µs by 8 users"),
        (
            vec![read(1, 0.6), read(64, 5.0)],
            None,
            "storage behind a network does, for which no public bounds are known",
        ),
        (vec![read(1, 6.0)], Some("oracle-2012"), "a rotating disk does: random read 8K takes 6 ms by 1 user"),
        (vec![read(16, 40.0)], Some("oracle-2012"), "takes 40 ms by 16 users"),
        // One read may take from 0.1 to 1.6 ms.
        (vec![read(16, 1.6)], None, "no random read by 1 user shows what it does"),
        (vec![Measurement { no_grade: Some("x".into()), ..read(1, 0.01) }], None, "no random read by 1 user shows"),
        (vec![row("read", 1 << 20, 1, 0.5, 0.6)], None, "no random read by 1 user shows"),
    ] {
        let found = of(&rows);
        assert_eq!(found.0, profile, "{found:?}");
        assert!(found.1.contains(words), "{found:?}");
    }
}

#[test]
fn a_sweep_over_depth_is_graded_like_one_over_users() {
    let deep = |depth: f64, mean_ms: f64| {
        let row = row("randread", 8192, 1, mean_ms, 2.0 * mean_ms);
        Measurement { depth: Some(depth), iops: Some(1000.0 * depth / mean_ms), ..row }
    };
    let rows = [deep(1.0, 0.5), deep(16.0, 1.5), deep(32.0, 3.1)];
    let marks = |rows: &[Measurement]| card("disk", rows, Some(&PROFILES[0])).lines[0].marks[0].clone();
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
