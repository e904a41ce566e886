//! The production code of every crate as `syn` reads it: the facts that house rules ask about, with their lines.
//!
//! Owns what production code is: files under `src` of every crate, without what is declared under `#[cfg(test)]`.

use super::sources;
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, FnArg, ImplItem, Item, Pat, ReturnType, Signature, TraitItem, Type, UseTree, Visibility};

/// A path in the code, `a::b::c`, as its names.
pub(super) type Path = Vec<String>;

/// A file of production code.
#[derive(Default)]
pub(super) struct Source {
    /// Its path from the workspace.
    pub(super) path: String,
    pub(super) text: String,
    /// What `use` items name. Those that are public pass names on.
    pub(super) imports: Vec<Import>,
    /// Paths outside of `use` items.
    pub(super) paths: Vec<Path>,
    pub(super) functions: Vec<Function>,
    /// Calls with `true` or `false` as an argument.
    pub(super) calls_with_bools: Vec<Named>,
    /// Enums whose variants hold nothing, with the variants.
    pub(super) enums: Vec<(Named, Vec<String>)>,
    /// Texts in quotes, without comments.
    pub(super) literals: Vec<Named>,
    /// Fields and methods, with the name in front of the point: `owner.name`.
    pub(super) members: Vec<Member>,
    /// Fields of structures that are given a text or the name of a constant.
    pub(super) fields: Vec<Field>,
    /// Constants that are a text.
    pub(super) constants: BTreeMap<String, String>,
    pub(super) public_items: Vec<String>,
    /// How often a name is defined, and how often it stands in the code at all but in public imports.
    pub(super) defined: BTreeMap<String, usize>,
    pub(super) words: BTreeMap<String, usize>,
}

/// A name or text and its line.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) line: usize,
}

pub(super) struct Import {
    pub(super) path: Path,
    /// The name that it has here.
    pub(super) name: String,
    pub(super) is_public: bool,
}

pub(super) struct Function {
    pub(super) name: Named,
    pub(super) parameters: Vec<(String, Kind)>,
    /// True for a public function whose error is a text.
    pub(super) fails_with_text: bool,
}

/// Kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Tuple,
    Other,
}

pub(super) struct Member {
    pub(super) owner: String,
    pub(super) name: Named,
}

pub(super) struct Field {
    pub(super) of: String,
    pub(super) name: String,
    pub(super) value: String,
}

/// The production code of all crates.
pub(super) fn production_sources() -> &'static [Source] {
    static ALL: LazyLock<Vec<Source>> =
        LazyLock::new(|| read_all(sources().into_iter().filter(|(path, _)| path.contains("/src/"))));
    &ALL
}

/// Reads files, and leaves out those that are modules of tests.
pub(super) fn read_all(files: impl IntoIterator<Item = (String, String)>) -> Vec<Source> {
    let (mut read, mut tests) = (Vec::new(), BTreeSet::new());
    for (path, text) in files {
        let mut reader = Reader::default();
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        reader.visit_file(&file);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        tests.extend(reader.test_modules.iter().map(|name| format!("{}/{name}", room(&path))));
        tests.extend(reader.test_files.iter().map(|file| format!("{directory}/{file}")));
        read.push(Source { path, text, ..reader.source });
    }
    let is_test = |path: &str| {
        let stem = path.trim_end_matches(".rs");
        stem.match_indices('/').map(|(at, _)| &stem[..at]).chain([stem]).any(|part| tests.contains(part))
    };
    read.retain(|source| !is_test(&source.path));
    read
}

/// The directory in which the modules of a file are.
fn room(path: &str) -> String {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file.trim_end_matches(".rs") {
        "mod" | "lib" | "main" => directory.to_owned(),
        stem => format!("{directory}/{stem}"),
    }
}

#[derive(Default)]
struct Reader {
    source: Source,
    /// Modules in separate files that only tests have, by their names.
    test_modules: Vec<String>,
    /// The same, by the files that `#[path = ".."]` names, without their endings.
    test_files: Vec<String>,
}

impl Reader {
    fn define(&mut self, visibility: Option<&Visibility>, name: &Ident) {
        *self.source.defined.entry(name.to_string()).or_default() += 1;
        if matches!(visibility, Some(Visibility::Public(_))) {
            self.source.public_items.push(name.to_string());
        }
    }

    fn function(&mut self, visibility: Option<&Visibility>, signature: &Signature) {
        self.define(visibility, &signature.ident);
        let is_public = matches!(visibility, Some(Visibility::Public(_)));
        self.source.functions.push(Function {
            name: named(&signature.ident),
            parameters: signature.inputs.iter().filter_map(parameter).collect(),
            fails_with_text: is_public && fails_with_text(&signature.output),
        });
    }

    fn import(&mut self, tree: &UseTree, before: &[String], visibility: &Visibility) {
        let mut add = |path: Path, name: &Ident| {
            let is_public = !matches!(visibility, Visibility::Inherited);
            self.source.imports.push(Import { path, name: name.to_string(), is_public });
        };
        let with = |name: &Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), visibility),
            UseTree::Name(name) if name.ident == "self" => {
                before.last().into_iter().for_each(|last| add(before.to_vec(), &Ident::new(last, name.ident.span())));
            }
            UseTree::Name(name) => add(with(&name.ident), &name.ident),
            UseTree::Rename(renamed) => add(with(&renamed.ident), &renamed.rename),
            UseTree::Glob(glob) => add(before.to_vec(), &Ident::new("_", glob.star_token.span())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before, visibility)),
        }
    }

    fn call(&mut self, name: Option<Named>, arguments: &Punctuated<Expr, syn::Token![,]>) {
        let is_bool =
            |argument: &Expr| matches!(argument, Expr::Lit(literal) if matches!(literal.lit, syn::Lit::Bool(_)));
        if arguments.iter().any(is_bool) {
            self.source.calls_with_bools.extend(name);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        } else if let Item::Mod(module) = item
            && module.content.is_none()
        {
            match path_attribute(&module.attrs) {
                Some(file) => self.test_files.push(file),
                None => self.test_modules.push(module.ident.to_string()),
            }
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item
            && is_for_tests(&function.attrs)
        {
            return;
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], &item.vis);
        }
        if !matches!(item.vis, Visibility::Public(_)) {
            visit::visit_item_use(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(Some(&item.vis), &item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(Some(&item.vis), &item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        match item {
            TraitItem::Fn(item) => self.function(None, &item.sig),
            TraitItem::Const(item) => self.define(None, &item.ident),
            TraitItem::Type(item) => self.define(None, &item.ident),
            _ => {}
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.define(Some(&item.vis), &item.ident);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_impl_item_type(&mut self, item: &'ast syn::ImplItemType) {
        self.define(None, &item.ident);
        visit::visit_impl_item_type(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.define(Some(&item.vis), &item.ident);
        self.source.constants.extend(text_of(&item.expr).map(|text| (item.ident.to_string(), text)));
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.define(Some(&item.vis), &item.ident);
        visit::visit_item_static(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(Some(&item.vis), &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(Some(&item.vis), &item.ident);
        if item.variants.iter().all(|variant| variant.fields.is_empty()) {
            let variants = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
            self.source.enums.push((named(&item.ident), variants));
        }
        visit::visit_item_enum(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(Some(&item.vis), &item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(Some(&item.vis), &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.define(None, &item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_ident(&mut self, name: &'ast Ident) {
        *self.source.words.entry(name.to_string()).or_default() += 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.source.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.source.literals.push(Named { name: literal.value(), line: literal.span().start().line });
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        let of = expression.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        for field in &expression.fields {
            let syn::Member::Named(name) = &field.member else { continue };
            let value = text_of(&field.expr).or_else(|| last_name(&field.expr).map(|last| last.name));
            let field = value.map(|value| Field { of: of.clone(), name: name.to_string(), value });
            self.source.fields.extend(field);
        }
        visit::visit_expr_struct(self, expression);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.call(last_name(&call.func), &call.args);
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.call(Some(named(&call.method)), &call.args);
        let owner = last_name(&call.receiver).map(|owner| owner.name).unwrap_or_default();
        self.source.members.push(Member { owner, name: named(&call.method) });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        if let syn::Member::Named(name) = &field.member {
            let owner = last_name(&field.base).map(|owner| owner.name).unwrap_or_default();
            self.source.members.push(Member { owner, name: named(name) });
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        // Most macros take expressions; what others take is read word by word.
        match item.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated) {
            Ok(arguments) => arguments.iter().for_each(|argument| Visit::visit_expr(self, argument)),
            Err(_) => Visit::visit_token_stream(self, &item.tokens),
        }
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.tokens(tokens);
    }
}

impl Reader {
    fn tokens(&mut self, tokens: &TokenStream) {
        let mut path: Path = Vec::new();
        let mut joined = String::new();
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(name) => {
                    *self.source.words.entry(name.to_string()).or_default() += 1;
                    match (joined.as_str(), path.last()) {
                        (".", Some(owner)) => {
                            self.source.members.push(Member { owner: owner.clone(), name: named(&name) });
                            path = vec![name.to_string()];
                        }
                        ("::", Some(_)) => path.push(name.to_string()),
                        _ => self.end_of_path(std::mem::replace(&mut path, vec![name.to_string()])),
                    }
                    joined.clear();
                }
                TokenTree::Punct(sign) => joined.push(sign.as_char()),
                other => {
                    self.end_of_path(std::mem::take(&mut path));
                    joined.clear();
                    match other {
                        TokenTree::Group(group) => self.tokens(&group.stream()),
                        TokenTree::Literal(literal) => {
                            if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                                self.visit_lit_str(&text);
                            }
                        }
                        TokenTree::Ident(_) | TokenTree::Punct(_) => {}
                    }
                }
            }
        }
        self.end_of_path(path);
    }

    fn end_of_path(&mut self, path: Path) {
        if path.len() > 1 {
            self.source.paths.push(path);
        }
    }
}

fn named(name: &Ident) -> Named {
    Named { name: name.to_string(), line: name.span().start().line }
}

/// The text that an expression is.
fn text_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The last name of a path, of fields or of a call: `c` of `a::b::c`, `a.b.c` and `a.b.c()`.
fn last_name(expression: &Expr) -> Option<Named> {
    match expression {
        Expr::Path(path) => path.path.segments.last().map(|last| named(&last.ident)),
        Expr::MethodCall(call) => Some(named(&call.method)),
        Expr::Field(syn::ExprField { member: syn::Member::Named(name), .. }) => Some(named(name)),
        Expr::Reference(inner) => last_name(&inner.expr),
        Expr::Try(inner) => last_name(&inner.expr),
        _ => None,
    }
}

fn parameter(argument: &FnArg) -> Option<(String, Kind)> {
    let FnArg::Typed(argument) = argument else { return None };
    let name = match &*argument.pat {
        Pat::Ident(pattern) => pattern.ident.to_string(),
        _ => "_".to_owned(),
    };
    let kind_of = |kind: &Type| match kind {
        Type::Path(path) if path.path.is_ident("bool") => Kind::Bool,
        Type::Tuple(tuple) if !tuple.elems.is_empty() => Kind::Tuple,
        _ => Kind::Other,
    };
    let kind = match &*argument.ty {
        Type::Reference(inner) => kind_of(&inner.elem),
        other => kind_of(other),
    };
    Some((name, kind))
}

/// True for `Result<.., String>`.
fn fails_with_text(output: &ReturnType) -> bool {
    let ReturnType::Type(_, returned) = output else { return false };
    let Type::Path(returned) = &**returned else { return false };
    let Some(last) = returned.path.segments.last().filter(|last| last.ident == "Result") else { return false };
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    let error = arguments.args.iter().nth(1);
    matches!(error, Some(syn::GenericArgument::Type(Type::Path(path))) if path.path.is_ident("String"))
}

/// True for `#[cfg(test)]` and `#[cfg(all(test, ..))]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let of_tests = |attribute: &Attribute| {
        let words = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        attribute.path().is_ident("cfg") && (words == "test" || words.starts_with("all (test"))
    };
    attributes.iter().any(of_tests)
}

/// The file that `#[path = ".."]` names, without its ending.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let path = text_of(&attribute.meta.require_name_value().ok()?.value)?;
    Some(path.trim_end_matches(".rs").to_owned())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
