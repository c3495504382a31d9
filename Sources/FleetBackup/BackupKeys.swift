import FleetStore
import Foundation

/// The keys of a fleet's backups, as the file that holds them: kept apart from the backups, and only ever the newest of it. Whose key is not in it any more is not in any
/// backup any more, either.
public struct BackupKeys: Hashable, Sendable, Codable {
    /// Of the file.
    public var version = 1
    /// A key of each person, and two of the fleet's own.
    public var seals: [FleetStore.Seal]
    /// SHA-256 of the names of those who are forgotten: an older backup does not know of all of them.
    public var forgotten: [String]

    /// Those that there are now.
    public init(_ store: FleetStore) throws { (seals, forgotten) = try store.sealsAndForgotten() }

    /// Of a file.
    /// - Throws: `BackupTrouble`.
    public init(file: [UInt8]) throws(BackupTrouble) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(file)), read.version == 1, read.seals.allSatisfy({ BackupSeal($0) != nil }) else {
            throw BackupTrouble("This is no file of a fleet's keys.")
        }
        self = read
    }

    /// As a file.
    public var file: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array((try? encoder.encode(self)) ?? Data()) + [UInt8(ascii: "\n")]
    }

    /// Whether both are of one fleet: the keys of another one are not written over.
    public func isOfSameFleet(as other: Self) -> Bool { fleet == other.fleet }

    private var fleet: String? { seals.first { $0.owner == FleetStore.fleetOwner }?.id }
}
