//! Compresses what is embedded in the program, scripts, style and typefaces, so that the files here stay readable.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    for directory in ["charts", "page", "vendor/fonts"] {
        println!("cargo::rerun-if-changed={directory}");
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().ok_or("a file has a name")?.to_string_lossy().into_owned();
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&fs::read(&path)?)?;
            fs::write(out.join(format!("{name}.deflated")), encoder.finish()?)?;
        }
    }
    Ok(())
}
