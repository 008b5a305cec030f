//! A synthesized stack and how its resources refer to each other.

use serde_json::Value;

/// The type of the events that consumers send when a job has ended. The API does not take it.
pub(super) const EVENT: &str = "webhook.deliver";

/// One stack after the SAM transform, with parameters, mappings and conditions put in.
#[derive(Debug, Clone)]
pub struct Stack {
    resources: Value,
}

/// One resource of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    /// Its logical id.
    pub name: &'a str,
    body: &'a Value,
}

/// A queue, the mapping that reads it and the function that the mapping calls.
#[derive(Debug, Clone, Copy)]
pub struct Consumer<'a> {
    /// The event source mapping.
    pub mapping: Resource<'a>,
    /// The queue.
    pub queue: Resource<'a>,
    /// The function.
    pub function: Resource<'a>,
}

impl Stack {
    /// Reads one stack of the synthesizer's output.
    ///
    /// # Panics
    /// Without resources.
    #[must_use]
    pub fn new(stack: &Value) -> Self {
        let resources = stack["Resources"].clone();
        assert!(resources.is_object(), "a stack has resources");
        Self { resources }
    }

    /// The resources of a type, such as `AWS::SQS::Queue`.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Resource<'a>> {
        self.resources
            .as_object()
            .into_iter()
            .flatten()
            .filter(move |(_, body)| body["Type"] == kind)
            .map(|(name, body)| Resource { name, body })
    }

    /// Every property of every resource: logical id, type and the property's name.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.resources.as_object().into_iter().flatten().flat_map(|(name, body)| {
            let kind = body["Type"].as_str().unwrap_or_default();
            body["Properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(move |(property, _)| (name.as_str(), kind, property.as_str()))
        })
    }

    /// The resource that `reference` (a `Ref` or a `Fn::GetAtt`) is about.
    #[must_use]
    pub fn target<'a>(&'a self, reference: &Value) -> Option<Resource<'a>> {
        let wanted = logical_id(reference)?;
        let (name, body) = self.resources.as_object()?.get_key_value(wanted)?;
        Some(Resource { name, body })
    }

    /// The consumers: one an event source mapping whose queue and function are both in this stack.
    #[must_use]
    pub fn consumers(&self) -> Vec<Consumer<'_>> {
        self.of_type("AWS::Lambda::EventSourceMapping")
            .filter_map(|mapping| {
                let queue = self.target(mapping.at("/EventSourceArn")).filter(|queue| queue.is("AWS::SQS::Queue"))?;
                let function =
                    self.target(mapping.at("/FunctionName")).filter(|function| function.is("AWS::Lambda::Function"))?;
                Some(Consumer { mapping, queue, function })
            })
            .collect()
    }

    /// The queues that jobs are sent to, by the producer and by consumers that tell of ended jobs: job type and logical id of the queue.
    #[must_use]
    pub fn routes(&self) -> Vec<(String, String)> {
        let mut routes = self.api_routes();
        for function in self.of_type("AWS::Lambda::Function") {
            let route =
                logical_id(function.environment("IKKAI_EVENTS_QUEUE_NAME")).map(|queue| (EVENT.to_owned(), queue.to_owned()));
            routes.extend(route.filter(|route| !routes.contains(route)));
        }
        routes
    }

    /// The queues that the producer sends to: job type and logical id of the queue.
    #[must_use]
    pub fn api_routes(&self) -> Vec<(String, String)> {
        self.of_type("AWS::Lambda::Function")
            .filter_map(|function| {
                let queues = function.environment("IKKAI_QUEUES");
                let text = queues.as_str().or_else(|| queues["Fn::Sub"].as_str())?;
                serde_json::from_str::<serde_json::Map<String, Value>>(text).ok()
            })
            .flatten()
            .filter_map(|(job_type, queue)| {
                let queue = queue.as_str()?.strip_prefix("${")?.strip_suffix(".QueueName}")?;
                Some((job_type, queue.to_owned()))
            })
            .collect()
    }

    /// Changes a property, for tests that break a stack on purpose.
    ///
    /// # Panics
    /// When the resource, or the place above the property, does not exist.
    pub fn set(&mut self, resource: &str, pointer: &str, value: Value) {
        let (above, key) = split(pointer);
        match self.place(resource, above) {
            Value::Object(members) => drop(members.insert(key.to_owned(), value)),
            Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
            other => panic!("{resource}{pointer}: nothing can be put into {other}"),
        }
    }

    /// Removes a property, for tests that break a stack on purpose.
    ///
    /// # Panics
    /// When it does not exist.
    pub fn remove(&mut self, resource: &str, pointer: &str) {
        let (above, key) = split(pointer);
        let removed = match self.place(resource, above) {
            Value::Object(members) => members.remove(key),
            Value::Array(items) => {
                key.parse::<usize>().ok().filter(|index| *index < items.len()).map(|index| items.remove(index))
            }
            _ => None,
        };
        assert!(removed.is_some(), "{resource}{pointer} does not exist");
    }

    /// Changes what stands beside the properties, such as `DependsOn`, for tests that break a stack on purpose.
    ///
    /// # Panics
    /// When the resource does not exist.
    pub fn set_attribute(&mut self, resource: &str, attribute: &str, value: Value) {
        self.resources[resource].as_object_mut().expect("a resource").insert(attribute.to_owned(), value);
    }

    /// Removes what stands beside the properties, for tests that break a stack on purpose.
    ///
    /// # Panics
    /// When it does not exist.
    pub fn remove_attribute(&mut self, resource: &str, attribute: &str) {
        let removed = self.resources[resource].as_object_mut().and_then(|body| body.remove(attribute));
        assert!(removed.is_some(), "{resource} has no {attribute}");
    }

    /// Removes a resource, for tests that break a stack on purpose.
    ///
    /// # Panics
    /// When it does not exist.
    pub fn drop_resource(&mut self, resource: &str) {
        let removed = self.resources.as_object_mut().and_then(|resources| resources.remove(resource));
        assert!(removed.is_some(), "{resource} does not exist");
    }

    fn place(&mut self, resource: &str, pointer: &str) -> &mut Value {
        self.resources
            .get_mut(resource)
            .and_then(|body| body.get_mut("Properties"))
            .and_then(|properties| properties.pointer_mut(pointer))
            .unwrap_or_else(|| panic!("{resource}{pointer} does not exist"))
    }
}

impl<'a> Resource<'a> {
    /// Whether it is of this type.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        self.body["Type"] == kind
    }

    /// The property at a JSON pointer, or null.
    #[must_use]
    pub fn at(&self, pointer: &str) -> &'a Value {
        self.body["Properties"].pointer(pointer).unwrap_or(&Value::Null)
    }

    /// What stands beside the properties, such as `DependsOn`, or null.
    #[must_use]
    pub fn attribute(&self, name: &str) -> &'a Value {
        &self.body[name]
    }

    /// A number, which CloudFormation also takes as a string.
    #[must_use]
    pub fn number(&self, pointer: &str) -> Option<u64> {
        number(self.at(pointer))
    }

    /// An environment variable of a function, or null.
    #[must_use]
    pub fn environment(&self, variable: &str) -> &'a Value {
        &self.at("/Environment/Variables")[variable]
    }

    /// Whether a boolean property is true. CloudFormation also takes the string.
    #[must_use]
    pub fn is_true(&self, pointer: &str) -> bool {
        let value = self.at(pointer);
        value == true || value == "true"
    }
}

/// Whether a policy's statement refuses everybody these actions without TLS, and nothing narrows the refusal.
pub(super) fn demands_tls(statement: &Value, actions: &str) -> bool {
    statement["Effect"] == "Deny"
        && is_everybody(&statement["Principal"])
        && listed(&statement["Action"]).into_iter().any(|action| action == actions)
        && statement["Condition"]["Bool"]["aws:SecureTransport"] == "false"
        && statement["Condition"].as_object().is_some_and(|condition| condition.len() == 1)
}

/// Whether a policy's statement allows everybody something.
pub(super) fn lets_everybody_in(statement: &Value) -> bool {
    statement["Effect"] != "Deny" && is_everybody(&statement["Principal"])
}

fn is_everybody(principal: &Value) -> bool {
    principal == "*" || principal["AWS"] == "*"
}

/// A number that may stand as a string.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The logical id in a `Ref` or a `Fn::GetAtt`.
pub(super) fn logical_id(reference: &Value) -> Option<&str> {
    reference["Ref"].as_str().or_else(|| reference["Fn::GetAtt"][0].as_str())
}

/// A value that may stand alone or in a list, as a list.
pub(super) fn listed(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').expect("a pointer has a slash")
}
