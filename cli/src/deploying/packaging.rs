//! What `aws cloudformation package` does, for the one kind of artifact that the template has: functions.
//!
//! The template names a folder for each function, `../target/lambda/<function>/`, as SAM and cargo-lambda have it. What is deployed is a
//! copy that names an object instead. Its key is made of the content's digest: CloudFormation updates a function when its key changes, so
//! the functions that did not change are left alone.

use crate::local::build::Package;

/// Where cargo-lambda leaves what it has built, as the template sees it.
const FOLDER: &str = "../target/lambda/";

/// The property of the template.
const PROPERTY: &str = "CodeUri:";

/// A template that cannot be packaged.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackagingError {
    /// It names code in another way.
    #[error(
        "line {line} of the template: CodeUri is `{found}`; write `{FOLDER}<function>/`, the folder that cargo-lambda builds to"
    )]
    Shape {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// It has no functions.
    #[error("the template has no `CodeUri`, so there is nothing to deploy code to")]
    NoFunctions,
    /// A function's code is not there.
    #[error(
        "the template deploys the function `{name}`, and no such function was built; is there a package of this name in the workspace?"
    )]
    NotBuilt {
        /// Which function.
        name: String,
    },
}

/// Where a function's code is in the text of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place<'a> {
    line: usize,
    function: &'a str,
}

/// A template whose code is in a bucket.
#[derive(Debug, Clone)]
pub struct Packaged<'a> {
    /// The copy to deploy.
    pub template: String,
    /// Each object that the copy names, once.
    pub uploads: Vec<Upload<'a>>,
}

/// A function's code and where it goes.
#[derive(Debug, Clone)]
pub struct Upload<'a> {
    /// The key of the object.
    pub key: String,
    /// The code.
    pub package: &'a Package,
}

/// The functions that a template deploys, in its order, each once.
///
/// # Errors
/// It names code in another way than [`Packaged`] can replace, or has none.
pub fn functions(template: &str) -> Result<Vec<String>, PackagingError> {
    let mut functions: Vec<String> = Vec::new();
    for place in places(template)? {
        if !functions.iter().any(|known| known == place.function) {
            functions.push(place.function.to_owned());
        }
    }
    Ok(functions)
}

impl<'a> Packaged<'a> {
    /// Puts objects of `bucket` in the place of folders.
    ///
    /// # Errors
    /// As for [`functions`], or a function is not among the packages.
    pub fn new(template: &str, packages: &'a [Package], bucket: &str, prefix: &str) -> Result<Self, PackagingError> {
        let mut lines: Vec<String> = template.split('\n').map(str::to_owned).collect();
        let mut uploads: Vec<Upload<'a>> = Vec::new();
        for place in places(template)? {
            let package = packages.iter().find(|package| package.name == place.function);
            let package = package.ok_or_else(|| PackagingError::NotBuilt { name: place.function.to_owned() })?;
            let key = format!("{prefix}{}/{}.zip", package.name, package.digest);
            let line = &mut lines[place.line - 1];
            let indent = line.len() - line.trim_start().len();
            *line = format!("{}{PROPERTY} {{Bucket: '{bucket}', Key: '{key}'}}", &line[..indent]);
            if !uploads.iter().any(|upload| upload.key == key) {
                uploads.push(Upload { key, package });
            }
        }
        Ok(Self { template: lines.join("\n"), uploads })
    }
}

/// Read line by line: comments, order and line numbers of the template stay as they are, and an error of CloudFormation names a line that
/// the file has.
fn places(template: &str) -> Result<Vec<Place<'_>>, PackagingError> {
    let mut places = Vec::new();
    for (index, text) in template.split('\n').enumerate() {
        let Some(value) = text.trim_start().strip_prefix(PROPERTY) else { continue };
        let value = value.trim();
        let function = value.strip_prefix(FOLDER).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let is_name =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let Some(function) = function.filter(is_name) else {
            return Err(PackagingError::Shape { line: index + 1, found: value.to_owned() });
        };
        places.push(Place { line: index + 1, function });
    }
    if places.is_empty() { Err(PackagingError::NoFunctions) } else { Ok(places) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "Resources:
  A:
    Properties:
      CodeUri: ../target/lambda/email-consumer/
      # CodeUri: a comment
  B:
    Properties:
      CodeUri: ../target/lambda/dlq-redrive
  C:
    Properties:
      CodeUri: ../target/lambda/email-consumer/
";

    fn package(name: &str, digest: &str) -> Package {
        let mut package = Package::of_zip(name, Vec::new());
        digest.clone_into(&mut package.digest);
        package
    }

    #[test]
    fn folders_become_objects_named_after_their_content_and_nothing_else_changes() {
        let packages = [package("dlq-redrive", "dd"), package("email-consumer", "ee"), package("unused", "uu")];
        let packaged = Packaged::new(TEMPLATE, &packages, "code", "ikkai/").unwrap();
        let email = "{Bucket: 'code', Key: 'ikkai/email-consumer/ee.zip'}";
        let expected = TEMPLATE
            .replace("../target/lambda/email-consumer/", email)
            .replace("../target/lambda/dlq-redrive", "{Bucket: 'code', Key: 'ikkai/dlq-redrive/dd.zip'}");
        assert_eq!(packaged.template, expected);
        let keys: Vec<&str> = packaged.uploads.iter().map(|upload| upload.key.as_str()).collect();
        assert_eq!(
            keys,
            ["ikkai/email-consumer/ee.zip", "ikkai/dlq-redrive/dd.zip"],
            "each once, and what nobody deploys not at all"
        );
    }

    #[test]
    fn the_functions_of_a_template_are_known_from_it() {
        assert_eq!(functions(TEMPLATE).unwrap(), ["email-consumer", "dlq-redrive"]);
        assert_eq!(functions("Resources: {}"), Err(PackagingError::NoFunctions));
    }

    #[test]
    fn code_that_is_named_in_another_way_is_refused_with_its_line_and_the_mend() {
        for found in ["{Bucket: b, Key: k}", "s3://bucket/key", "../target/lambda/", "../target/lambda/../x/", "./src"] {
            let error = functions(&TEMPLATE.replace("../target/lambda/dlq-redrive", found)).unwrap_err().to_string();
            assert!(error.contains("line 8 ") && error.contains(&format!("`{found}`")), "{error}");
            assert!(error.contains("`../target/lambda/<function>/`"), "{error}");
        }
    }

    #[test]
    fn a_function_that_was_not_built_is_named() {
        let packages = [package("email-consumer", "ee")];
        let error = Packaged::new(TEMPLATE, &packages, "code", "").unwrap_err();
        assert_eq!(error, PackagingError::NotBuilt { name: "dlq-redrive".to_owned() });
    }

    #[test]
    fn the_template_of_this_kit_deploys_what_is_built_for_it() {
        let template = include_str!("../../../infra/template.yaml");
        let mut functions = functions(template).unwrap();
        functions.sort();
        let mut built = crate::local::build::FUNCTIONS.map(str::to_owned);
        built.sort();
        assert_eq!(functions, built);
    }
}
