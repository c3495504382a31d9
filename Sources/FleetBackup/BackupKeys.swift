import FleetStore
import Foundation

/// The keys of a fleet's backups, as the file that holds them: kept apart from the backups, and only ever the newest of it. Whose key is not in it any more is not in any
/// backup any more, either.
public struct BackupKeys: Hashable, Sendable, Codable {
    /// Of the file: 2; of 1 nobody knows what was thrown away before, nor who is let in no more.
    public var version = 2
    /// A key of each person, and two of the fleet's own. Where copies of a fleet made several for one, those of the database that was written last come first.
    public var seals: [FleetStore.Seal]
    /// SHA-256 of the names of those who are forgotten: an older backup does not know of all of them.
    public var forgotten: [String]
    /// What backups call the keys that were thrown away, for ever: they do not come back, and nothing else may be missing.
    public var thrown: [String] = []
    /// Whose credential was taken back, by what they have for ever: an older backup does not know of all of them.
    public var revoked: [String] = []

    /// Those that there are now.
    public init(_ store: FleetStore) throws {
        (seals, forgotten) = try store.sealsAndForgotten()
        revoked = try store.revokedIDs()
    }

    /// Of a file.
    /// - Throws: `BackupTrouble`.
    public init(file: [UInt8]) throws(BackupTrouble) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(file)), (1...2).contains(read.version), read.seals.allSatisfy({ BackupSeal($0) != nil }) else {
            throw BackupTrouble("This is no file of a fleet's keys.")
        }
        self = read
        version = 2
    }

    /// Of JSON: a file of version 1 has fewer fields.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        version = try fields.decode(Int.self, forKey: .version)
        seals = try fields.decode([FleetStore.Seal].self, forKey: .seals)
        forgotten = try fields.decode([String].self, forKey: .forgotten)
        thrown = version == 1 ? [] : try fields.decode([String].self, forKey: .thrown)
        revoked = version == 1 ? [] : try fields.decode([String].self, forKey: .revoked)
    }

    /// As a file.
    public var file: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array((try? encoder.encode(self)) ?? Data()) + [UInt8(ascii: "\n")]
    }

    /// Whether both are of one fleet: the keys of another one are not written over. A file without any key is of none.
    public func isOfSameFleet(as other: Self) -> Bool { other.seals.isEmpty || fleet == other.fleet }

    private var fleet: String? { seals.first { $0.owner == FleetStore.fleetOwner }?.id }

    /// Those that this database has and that were thrown away: it is of before that.
    public func outlived(by newer: Self) -> [FleetStore.Seal] {
        let thrown = Set(newer.thrown)
        return seals.filter { thrown.contains($0.id) }
    }

    /// What goes into the file in the place of an old one. A key of that stays unless its owner is forgotten here, since the database may be a copy of the fleet that does not
    /// know everybody; the one over what may name anybody goes where somebody is forgotten whom the file did not know as that.
    /// - Parameters:
    ///   - old: what the file holds; `nil`: there is none.
    ///   - used: what a backup calls the keys that it was sealed with: those that are gone by now were thrown away.
    public func over(_ old: Self?, used: some Sequence<String> = []) -> Self {
        var new = self
        var thrown = Set(old?.thrown ?? []).union(self.thrown)
        let mine = Set(seals.map(\.id)), gone = Set(forgotten), isAnybodyNew = !gone.isSubset(of: old?.forgotten ?? [])
        for seal in old?.seals ?? [] where !mine.contains(seal.id) {
            if gone.contains(seal.owner) || seal.owner == FleetStore.memoryOwner && isAnybodyNew { thrown.insert(seal.id) } else { new.seals.append(seal) }
        }
        thrown.formUnion(Set(used).subtracting(new.seals.map(\.id)))
        new.seals.removeAll { thrown.contains($0.id) }
        new.thrown = thrown.sorted()
        new.revoked = Set(old?.revoked ?? []).union(revoked).sorted()
        return new
    }
}
