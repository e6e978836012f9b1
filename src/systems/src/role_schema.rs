//! An agent's own schema for the reply of its role: it may say more about the
//! role's fields, and nothing else.

use antiphon_core::{Fault, FaultCode, Schema};
use serde_json::{Map, Value as Json};

/// `schema` with what `own` adds to its fields: descriptions, patterns, a
/// choice of fewer values. What the role demands stays.
///
/// # Errors
/// A `Validation` fault `role_invalid`: a field that the role does not have,
/// or of which it wants something else.
pub(crate) fn narrow(mut schema: Schema, own: &Json, role: &str) -> Result<Schema, Fault> {
    let definitions = own.get("$defs").cloned();
    let target = resolve_reference(own, definitions.as_ref());
    let theirs = target.get("properties").and_then(Json::as_object);
    let fields = theirs.into_iter().flatten();
    for (name, their) in fields {
        let path = format!("/properties/{name}");
        let our =
            schema.json.pointer_mut(&path).and_then(Json::as_object_mut).ok_or_else(|| {
                let message = format!(
                    "the {role} does not reply with a field of its agent's `output`: {name}"
                );
                invalid(message, role)
            })?;
        let their = resolve_reference(their, definitions.as_ref());
        combine(our, their, definitions.as_ref()).map_err(|clash| {
            let message = format!(
                "the {role} cannot reply with what its agent's `output` wants as `{name}`: {clash}"
            );
            invalid(message, role)
        })?;
    }
    if let (Some(definitions), Some(root)) = (definitions, schema.json.as_object_mut()) {
        root.insert("$defs".to_owned(), definitions);
    }
    Ok(schema)
}

/// Adds what is new to one field. The error is what cannot be had.
fn combine(
    our: &mut Map<String, Json>,
    their: &Json,
    definitions: Option<&Json>,
) -> Result<(), String> {
    for (key, value) in their.as_object().into_iter().flatten() {
        match (key.as_str(), our.get_mut(key)) {
            ("items", Some(Json::Object(items))) => {
                combine(items, resolve_reference(value, definitions), definitions)?;
            }
            ("enum", Some(known)) => {
                let known_to_role = |one: &Json| known.as_array().is_some_and(|k| k.contains(one));
                let wanted = value.as_array().into_iter().flatten();
                if let Some(unknown) = wanted.into_iter().find(|one| !known_to_role(one)) {
                    return Err(unknown.to_string());
                }
                known.clone_from(value);
            }
            ("type", Some(known)) if known != value => {
                // One of several types is a narrower choice.
                if !known.as_array().is_some_and(|types| types.contains(value)) {
                    return Err(value.to_string());
                }
                known.clone_from(value);
            }
            (_, Some(_)) => {}
            (_, None) => {
                our.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(())
}

/// What a schema refers to among its own definitions, else itself.
fn resolve_reference<'s>(schema: &'s Json, definitions: Option<&'s Json>) -> &'s Json {
    let name = schema.get("$ref").and_then(Json::as_str).and_then(|at| at.rsplit('/').next());
    name.and_then(|name| definitions?.get(name)).unwrap_or(schema)
}

fn invalid(message: String, role: &str) -> Fault {
    Fault::new(FaultCode::RoleInvalid, message).with("role", role)
}
