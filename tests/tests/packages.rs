//! What `ikkai deploy` uploads, built as it builds it. Takes as long as a release does, so it runs only when it is asked for.

use std::io::Read as _;
use std::process::Command;

use ikkai_cli::deploying::artifact::{self, Architecture, Target};
use ikkai_cli::deploying::cargo_lambda::VERSION;
use ikkai_cli::deploying::packaging;
use ikkai_cli::local::checkout::Checkout;

#[test]
#[ignore = "builds a release for arm64 with cargo-lambda, which takes many minutes"]
fn every_function_is_a_small_zip_that_lambda_can_run() {
    let checkout = Checkout::around(env!("CARGO_MANIFEST_DIR").as_ref()).expect("a checkout");
    let template = std::fs::read_to_string(checkout.file("infra/template.yaml")).expect("a template");
    let functions = packaging::functions(&template).expect("functions");
    // A folder of its own: `sam deploy` would pack a zip that lies beside a binary.
    let folder = checkout.file("target/lambda-zips");
    let mut build = Command::new("cargo");
    build.args(["lambda", "build", "--release", "--arm64", "--output-format", "zip", "--lambda-dir"]).arg(&folder);
    functions.iter().for_each(|function| {
        build.args(["--package", function]);
    });
    let built = build.current_dir(checkout.root()).status();
    assert!(built.is_ok_and(|status| status.success()), "cargo-lambda builds; `pip install cargo-lambda=={VERSION}` installs it");
    for name in functions {
        let zip = std::fs::read(folder.join(&name).join("bootstrap.zip")).expect("a zip");
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&zip)).expect("a zip");
        assert_eq!(archive.len(), 1, "{name}: nothing but the program");
        let mut binary = Vec::new();
        archive.by_name("bootstrap").expect("a program").read_to_end(&mut binary).expect("its bytes");
        let artifact = artifact::check(&name, &binary, zip.len(), Target::Lambda(Architecture::Arm64));
        let artifact = artifact.unwrap_or_else(|error| panic!("{error}"));
        let glibc = artifact.glibc.map_or("none".to_owned(), |glibc| glibc.to_string());
        eprintln!("{name:<18} {:>9} bytes zipped, {:>9} bytes, glibc {glibc}", zip.len(), binary.len());
    }
}
