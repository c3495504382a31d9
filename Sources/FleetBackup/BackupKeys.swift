import FleetStore
import Foundation

/// The keys of a fleet's backups, as the file that holds them: kept apart from the backups, and only ever the newest of
/// it. Whose key is not in it any more is not in any backup any more, either.
///
/// Several databases may write one file: the fleet, a copy of it, what was put back from before. What each of them
/// knows of who is forgotten and let in no more is put together, and neither the order nor the age of what they know
/// changes what comes out.
public struct BackupKeys: Hashable, Sendable, Codable {
    /// Of the file: 3; of 1 nobody knows what was thrown away before, nor who is let in no more, and of 1 and 2 not who
    /// is known again.
    public var version = 3
    /// A key of each person, and two of the fleet's own. Where copies of a fleet made several for one, those of the
    /// database that was written last come first.
    public var seals: [FleetStore.Seal]
    /// Who was ever forgotten. A key that was made without knowing of one of these opens nothing any more.
    public var forgettings: FleetStore.Forgettings
    /// What backups call the keys that were thrown away, for ever: they do not come back, and nothing else may be
    /// missing.
    public var thrown: [String] = []
    /// Whose credential was taken back, by what they have for ever: an older backup does not know of all of them.
    public var revoked: [String] = []

    /// Those that there are now.
    public init(_ store: FleetStore) throws {
        (seals, forgettings) = try store.sealsAndForgettings()
        revoked = try store.revokedIDs()
    }

    /// All of it, of this version.
    init(
        seals: [FleetStore.Seal], forgettings: FleetStore.Forgettings = [:], thrown: [String] = [],
        revoked: [String] = []
    ) {
        (self.seals, self.forgettings, self.thrown, self.revoked) = (seals, forgettings, thrown, revoked)
    }

    /// Of a file.
    /// - Throws: `BackupTrouble`.
    public init(file: [UInt8]) throws(BackupTrouble) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(file)), (1...3).contains(read.version),
            read.seals.allSatisfy({ BackupSeal($0) != nil && $0.after.allSatisfy(Self.isName) }),
            read.forgettings.values.allSatisfy({ $0.keys.allSatisfy(Self.isName) })
        else { throw BackupTrouble("This is no file of a fleet's keys.") }
        self = read
    }

    /// Of a forgetting.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }

    private enum CodingKeys: CodingKey {
        case version, seals, forgotten, forgettings, thrown, revoked
    }

    /// Of JSON: a file of an older version has fewer fields, and lists who is forgotten.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        version = try fields.decode(Int.self, forKey: .version)
        seals = try fields.decode([FleetStore.Seal].self, forKey: .seals)
        // When a database came to name forgettings it called those of before `old`, and knew who was known again by
        // then; a file of version 1 may be of before that, too.
        let before = version == 1 ? "first" : FleetStore.oldForgetting
        forgettings =
            version < 3
            ? Dictionary(try fields.decode([String].self, forKey: .forgotten).map { ($0, [before: false]) }) { $1 }
            : try fields.decode(FleetStore.Forgettings.self, forKey: .forgettings)
        thrown = version == 1 ? [] : try fields.decode([String].self, forKey: .thrown)
        revoked = version == 1 ? [] : try fields.decode([String].self, forKey: .revoked)
    }

    /// As JSON.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(version, forKey: .version)
        try fields.encode(seals, forKey: .seals)
        try fields.encode(forgettings, forKey: .forgettings)
        try fields.encode(thrown, forKey: .thrown)
        try fields.encode(revoked, forKey: .revoked)
    }

    /// As a file.
    public var file: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array((try? encoder.encode(self)) ?? Data()) + [UInt8(ascii: "\n")]
    }

    /// SHA-256 of the names of those who are forgotten.
    public var forgotten: Set<String> { Set(forgettings.lazy.filter { $0.value.values.contains(false) }.map(\.key)) }

    /// Whether both are of one fleet: the keys of another one are not written over. A file without any key is of none.
    public func isOfSameFleet(as other: Self) -> Bool { other.seals.isEmpty || fleet == other.fleet }

    private var fleet: String? { seals.first { $0.owner == FleetStore.fleetOwner }?.id }

    /// Those that this database has and that were thrown away, or are to be: it is of before that.
    public func outlived(by newer: Self) -> [FleetStore.Seal] {
        let thrown = Set(newer.thrown)
        return seals.filter { thrown.contains($0.id) || newer.isBehind($0) }
    }

    /// It was made without knowing of a forgetting of its owner.
    private func isBehind(_ seal: FleetStore.Seal) -> Bool {
        forgettings[seal.owner]?.keys.contains { !seal.after.contains($0) } ?? false
    }

    /// What goes into the file in the place of an old one. A key of that stays unless its owner was forgotten after it
    /// was made, since the database may be a copy of the fleet that does not know everybody; the one over what may name
    /// anybody goes where somebody was forgotten of which the file did not know.
    /// - Parameters:
    ///   - old: what the file holds; `nil`: there is none.
    ///   - used: what a backup calls the keys that it was sealed with: those that are gone by now were thrown away.
    public func over(_ old: Self?, used: some Sequence<String> = []) -> Self {
        var new = self
        new.version = 3
        new.forgettings.merge(old?.forgettings ?? [:]) { $0.merging($1) { $0 || $1 } }
        let isAnybodyNew = forgettings.contains { owner, events in
            events.keys.contains { old?.forgettings[owner]?[$0] == nil }
        }
        let mine = Set(seals.map(\.id))
        var thrown = Set(old?.thrown ?? []).union(self.thrown)
        for seal in old?.seals ?? [] where !mine.contains(seal.id) {
            if seal.owner == FleetStore.memoryOwner && isAnybodyNew {
                thrown.insert(seal.id)
            } else {
                new.seals.append(seal)
            }
        }
        // Nobody makes a key for who is forgotten: what it was made after was undone by then.
        for seal in new.seals where !thrown.contains(seal.id) {
            for event in seal.after where new.forgettings[seal.owner]?[event] == false {
                new.forgettings[seal.owner]?[event] = true
            }
        }
        thrown.formUnion(new.seals.lazy.filter(new.isBehind).map(\.id))
        thrown.formUnion(Set(used).subtracting(new.seals.map(\.id)))
        new.seals.removeAll { thrown.contains($0.id) }
        new.thrown = thrown.sorted()
        new.revoked = Set(old?.revoked ?? []).union(revoked).sorted()
        return new
    }
}
