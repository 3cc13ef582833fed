//! How long it takes to name, describe and compare many tools.

use std::sync::Arc;

use codehatch_tools::{CatalogOptions, Listing, ProviderTools, ToolSet, ToolSpec};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Tools of ten providers, in the proportions of real servers: six parameters on average, a declared result
/// with a nested type for every second tool.
fn providers(tools: usize) -> Vec<(String, Arc<Listing>)> {
    (0..10)
        .map(|provider| {
            let tools = (0..tools / 10)
                .map(|number| tool(provider, number))
                .collect();
            let listing = Listing {
                tools,
                problems: Vec::new(),
            };
            (format!("server-{provider}"), Arc::new(listing))
        })
        .collect()
}

fn tool(provider: usize, number: usize) -> ToolSpec {
    let input = json!({
        "type": "object",
        "properties": {
            "account_id": {"type": "string", "description": "Account that owns the record"},
            "record_id": {"type": "integer", "description": "Number of the record", "minimum": 1},
            "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields to return"},
            "status": {"type": "string", "enum": ["open", "closed", "any"], "default": "open"},
            "page_token": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
            "limit": {"type": "integer", "default": 50, "maximum": 500},
        },
        "required": ["account_id", "record_id"],
    });
    let name = format!("operation_{provider}_{number}_of_records");
    let spec = ToolSpec::new(name, input).with_description(format!(
        "Carries out operation {number} on the records of an account.\n\nThe records are returned in the \
         order in which they were created, and deleted ones are left out unless asked for."
    ));
    if number.is_multiple_of(2) {
        spec.with_output_schema(result())
    } else {
        spec
    }
}

fn result() -> Value {
    json!({
        "type": "object",
        "properties": {
            "records": {"type": "array", "items": {"$ref": "#/$defs/Record"}},
            "next_page_token": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "total": {"type": "integer"},
        },
        "required": ["records", "total"],
        "$defs": {
            "Record": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "name": {"type": "string"},
                    "created_at": {"type": "string", "format": "date-time"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "score": {"type": "number"},
                },
                "required": ["id", "name", "created_at"],
            },
        },
    })
}

fn borrow(providers: &[(String, Arc<Listing>)]) -> Vec<ProviderTools<'_>> {
    providers
        .iter()
        .map(|(namespace, listing)| ProviderTools {
            namespace: Some(namespace),
            listing: Arc::clone(listing),
        })
        .collect()
}

const SIZES: [usize; 3] = [100, 1_000, 10_000];

#[divan::bench(args = SIZES)]
fn names(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    bencher.bench(|| ToolSet::build(black_box(&borrow(&providers))));
}

#[divan::bench(args = SIZES)]
fn catalog_and_stubs_cold(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    bencher.bench(|| {
        let set = ToolSet::build(&borrow(&providers));
        let files = set.files();
        let catalog = set.catalog(&CatalogOptions::default());
        (set, files, catalog)
    });
}

#[divan::bench(args = SIZES)]
fn catalog_and_stubs_unchanged(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    let set = ToolSet::build(&borrow(&providers));
    let options = CatalogOptions::default();
    set.files();
    set.catalog(&options);
    bencher.bench(|| {
        let set = set.update(black_box(&borrow(&providers)));
        let files = set.files();
        let catalog = set.catalog(&options);
        let fingerprint = set.fingerprint();
        (set, files, catalog, fingerprint)
    });
}

#[divan::bench(args = SIZES)]
fn one_provider_listed_anew(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    let set = ToolSet::build(&borrow(&providers));
    set.files();
    set.catalog(&CatalogOptions::default());
    let mut changed = self::providers(tools);
    let mut listing = Listing::clone(&changed[3].1);
    listing.tools[0].description.push('!');
    changed[3].1 = Arc::new(listing);
    bencher.bench(|| {
        let set = set.update(&borrow(&changed));
        (set.files(), set.catalog(&CatalogOptions::default()))
    });
}

#[divan::bench(args = SIZES)]
fn fingerprint(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    bencher
        .with_inputs(|| ToolSet::build(&borrow(&providers)))
        .bench_values(|set| set.fingerprint());
}

#[divan::bench(args = SIZES)]
fn resolve(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    let set = ToolSet::build(&borrow(&providers));
    bencher.bench(|| {
        set.resolve(black_box("server_7.operation_7_3_of_records"))
            .is_some()
    });
}

#[divan::bench(args = SIZES)]
fn suggest(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    let set = ToolSet::build(&borrow(&providers));
    bencher.bench(|| {
        set.suggest(black_box("server_7.operation_7_3_of_recrds"))
            .len()
    });
}

#[divan::bench(args = SIZES)]
fn search(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    let set = ToolSet::build(&borrow(&providers));
    set.search("warm up", 1);
    bencher.bench(|| set.search(black_box("operation 77 of records"), 10).len());
}

#[divan::bench(args = SIZES)]
fn first_search(bencher: Bencher<'_, '_>, tools: usize) {
    let providers = providers(tools);
    bencher
        .with_inputs(|| ToolSet::build(&borrow(&providers)))
        .bench_values(|set| set.search("operation 77", 10).len());
}
