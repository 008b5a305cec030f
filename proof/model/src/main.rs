//! x
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]
use ikkai_model::{moves::Protocol, scope, search};
fn main() {
    for scope in scope::FULL {
        if std::env::args().nth(1).is_some_and(|name| name != scope.name) { continue; }
        let protocol = Protocol { scope, variant: None };
        let found = search::search(&protocol, false);
        println!("{}  {} {} ends {} {:?}", scope.name, found.states, found.moves, found.ends, found.took);
        for (property, path) in found.broken {
            println!("  {property:?}");
            for step in path.iter().rev().take(6).rev() { println!("    {:?} -> {:?}", step.what, step.next.records[0]); if std::env::args().nth(2).is_some() { println!("{:#?}", step.next); } }
            
        }
    }
}
