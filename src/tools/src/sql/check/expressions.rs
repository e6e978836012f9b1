//! The expressions that a query may contain.

use antiphon_core::Fault;
use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function,
    FunctionArguments, InTarget, ObjectNamePart, UnaryOperator, Value,
};

use crate::sql::fault;

/// The types of users and extensions that are as harmless as the built-in ones.
const OTHER_TYPES: &[&str] = &[
    "citext",
    "inet",
    "cidr",
    "macaddr",
    "money",
    "name",
    "tsvector",
    "tsquery",
    "point",
    "box",
    "int4range",
    "int8range",
    "numrange",
    "daterange",
    "tsrange",
    "tstzrange",
    "jsonpath",
    "oid",
];

fn refuse(what: &str, value: &impl std::fmt::Display) -> Result<(), Fault> {
    Err(fault::refused("expression", &format!("{what}: {value}")))
}

pub(super) fn check_expression(expression: &Expr) -> Result<(), Fault> {
    match expression {
        Expr::BinaryOp { op, .. }
        | Expr::AnyOp { compare_op: op, .. }
        | Expr::AllOp { compare_op: op, .. } => check_operator(op),
        Expr::UnaryOp { op, .. } => check_unary(*op),
        Expr::Cast { kind, data_type, format, .. } => {
            let is_plain = matches!(kind, CastKind::Cast | CastKind::DoubleColon);
            if !is_plain || format.is_some() {
                return refuse("it contains a cast of another dialect", expression);
            }
            check_type(data_type)
        }
        Expr::TypedString(typed) if !typed.uses_odbc_syntax => check_type(&typed.data_type),
        Expr::Value(value) => check_value(&value.value),
        Expr::In { target: InTarget::List(_) | InTarget::Subquery(_), global: false, .. }
        | Expr::Like { any: false, .. }
        | Expr::ILike { any: false, .. } => Ok(()),
        Expr::CompoundFieldAccess { access_chain, .. } => {
            let is_plain = |access: &AccessExpr| match access {
                AccessExpr::Subscript(_) | AccessExpr::Dot(Expr::Identifier(_)) => true,
                AccessExpr::Dot(_) => false,
            };
            if access_chain.iter().all(is_plain) {
                return Ok(());
            }
            refuse("it contains an access of another dialect", expression)
        }
        other if is_harmless(other) => Ok(()),
        other => refuse("it contains an expression that is not allowed", other),
    }
}

/// Expressions that are harmless whatever they contain, which is checked too.
const fn is_harmless(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::IsJson { .. }
            | Expr::Between { .. }
            | Expr::SimilarTo { .. }
            | Expr::AtTimeZone { .. }
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Overlay { .. }
            | Expr::Collate { .. }
            | Expr::Nested(_)
            | Expr::Case { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Interval(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
    )
}

/// Operators are functions too; these are the built-in ones.
fn check_operator(operator: &BinaryOperator) -> Result<(), Fault> {
    match operator {
        BinaryOperator::Custom(_)
        | BinaryOperator::PGCustomBinaryOperator(_)
        | BinaryOperator::DuckIntegerDivide
        | BinaryOperator::MyIntegerDivide
        | BinaryOperator::Spaceship
        | BinaryOperator::Xor => refuse("it contains an operator that is not allowed", operator),
        _ => Ok(()),
    }
}

fn check_unary(operator: UnaryOperator) -> Result<(), Fault> {
    match operator {
        UnaryOperator::Plus
        | UnaryOperator::Minus
        | UnaryOperator::Not
        | UnaryOperator::BitwiseNot
        | UnaryOperator::PGAbs
        | UnaryOperator::PGSquareRoot
        | UnaryOperator::PGCubeRoot => Ok(()),
        _ => refuse("it contains an operator that is not allowed", &operator),
    }
}

fn check_value(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Number(..)
        | Value::SingleQuotedString(_)
        | Value::HexStringLiteral(_)
        | Value::Boolean(_)
        | Value::Null
        | Value::Placeholder(_) => Ok(()),
        _ => refuse("it contains a literal with special quoting", value),
    }
}

/// A call in the syntax of standard SQL.
pub(super) fn check_call(function: &Function) -> Result<(), Fault> {
    let is_plain = !function.uses_odbc_syntax
        && matches!(function.parameters, FunctionArguments::None)
        && !matches!(function.args, FunctionArguments::Subquery(_));
    if is_plain { Ok(()) } else { refuse("it contains a call of another dialect", function) }
}

/// A cast calls the input function of its type, and `regclass` and its kin read the catalogues.
pub(super) fn check_type(data_type: &DataType) -> Result<(), Fault> {
    match data_type {
        DataType::Custom(name, _) => {
            let is_known = match name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => {
                    OTHER_TYPES.contains(&name.value.to_ascii_lowercase().as_str())
                }
                _ => false,
            };
            if is_known { Ok(()) } else { refuse("it contains a type that is not allowed", name) }
        }
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => check_type(element),
        DataType::Regclass
        | DataType::Array(_)
        | DataType::Collate(..)
        | DataType::Map(..)
        | DataType::Tuple(_)
        | DataType::Nested(_)
        | DataType::Object(_)
        | DataType::Enum(..)
        | DataType::Set(_)
        | DataType::Struct(..)
        | DataType::Union(_)
        | DataType::Nullable(_)
        | DataType::LowCardinality(_)
        | DataType::Zerofill(_)
        | DataType::Trigger
        | DataType::AnyType
        | DataType::Table(_)
        | DataType::NamedTable { .. } => {
            refuse("it contains a type that is not allowed", data_type)
        }
        _ => Ok(()),
    }
}
