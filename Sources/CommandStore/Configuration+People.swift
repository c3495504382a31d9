import CommandKit
import Foundation

// Whose store is whose, where several people are listed.
extension Configuration {
    /// The person of this name.
    public func person(named name: String) throws -> PersonEntry {
        if let found = people.first(where: { $0.name == name }) { return found }
        guard !isHidden else {
            throw CommandFailure(
                .failed, "Who \(name) is stands in \(Paths.configuration), which is not yours to read.",
                advice: "Name the store with --store, or read the configuration as the service's user (sudo -u waterh)."
            )
        }
        throw CommandFailure(
            .wrongUse,
            people.isEmpty
                ? "There is no list of people, so nobody is called \(name)." : "Nobody of the list is called \(name).",
            advice: people.isEmpty
                ? "List people as [[person]] in waterh.toml, or name a store with --store."
                : "There: \(people.map(\.name).joined(separator: ", ")).")
    }

    /// Looks whether each person's store has a place of its own: the folder must be there, and no two may be one file,
    /// by whatever way it is named.
    /// - Parameter checked: whose folders are to be there; everybody's where `nil`.
    public func checkStores(of checked: String? = nil) throws {
        var seen: [StorePlace.Spot: String] = [:]
        for person in people {
            let folder = StorePlace.Spot.folder(of: person.store)
            var status = stat()
            if checked == nil || checked == person.name, stat(folder, &status) != 0, errno == ENOENT || errno == ENOTDIR
            {
                throw CommandFailure(
                    .failed, "The folder of \(person.name)'s store, \(folder), does not exist.",
                    advice: "Make it (mkdir -p \(folder)), or mend 'store' at \(person.name).")
            }
            let spot = StorePlace.Spot(person.store)
            if let other = seen[spot] {
                throw CommandFailure(
                    .badInput, "\(other) and \(person.name) have one store: \(person.store).",
                    advice: "A store is one person's day: give each a file of their own.")
            }
            seen[spot] = person.name
        }
    }
}
