//! Options of the linker for the released program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // The addresses that the loader fills in, 50,000 of them, take 24 bytes each, or as a map of bits next to none: 1.2
    // MB less. glibc reads such a map since 2.36; `make dist` also builds for older ones.
    println!("cargo::rerun-if-env-changed=PLUMB_FOR_GLIBC");
    let old_loader = std::env::var("PLUMB_FOR_GLIBC").is_ok_and(|found| found != "2.36");
    let packs = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !old_loader;
    if is("PROFILE", "release") && packs {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
