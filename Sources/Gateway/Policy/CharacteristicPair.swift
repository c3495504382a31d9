package import BottleProtocol
package import Bluetooth

/// The command and response characteristics of a bottle, with its GATT profile (protocol spec P1.1).
///
/// Other devices also use UUIDs such as FFE0, so the characteristics must have the properties of the profile.
package struct CharacteristicPair: Hashable, Sendable {
    package let profile: BottleProfile
    package var command: RemoteCharacteristic
    package var response: RemoteCharacteristic

    /// Whether responses can be read, as in the draft profile.
    var responseCanBeRead: Bool { profile == .draft && response.properties.contains(.read) }

    /// The UUIDs and value handles: `FFE9 and FFE4 (handles 17 and 21)`.
    var text: String { "\(command.uuid) and \(response.uuid) (handles \(command.handle) and \(response.handle))" }

    /// The error for a GATT table that matches no profile.
    package struct NoMatchingProfile: Error {
        /// The reason why each profile does not match, the retail profile first.
        package var reasons: [String]
    }

    /// All usable pairs of command and response characteristics, the most likely first; never empty. The retail profile
    /// takes precedence. A table can have a characteristic twice, of which only one might work.
    package static func all(in services: [RemoteService]) throws(NoMatchingProfile) -> [CharacteristicPair] {
        var reasons: [String] = []
        for profile in [BottleProfile.retail, .draft] {
            do throws(NoMatchingProfile) {
                return try pairs(of: profile, in: services)
            } catch {
                reasons += error.reasons
            }
        }
        throw NoMatchingProfile(reasons: reasons)
    }

    private static func pairs(
        of profile: BottleProfile, in services: [RemoteService]
    ) throws(NoMatchingProfile) -> [CharacteristicPair] {
        let commandUUID = BluetoothUUID(profile.commandCharacteristic)
        let responseUUID = BluetoothUUID(profile.responseCharacteristic)
        let commands = services.characteristics(commandUUID, in: profile.commandService)
        let responses = services.characteristics(responseUUID, in: profile.responseService)
        for (uuid, found) in [(commandUUID, commands), (responseUUID, responses)] where found.isEmpty {
            throw NoMatchingProfile(reasons: ["the \(profile.rawValue) profile's \(uuid) is missing"])
        }
        let writable = commands.filter { !$0.properties.isDisjoint(with: [.write, .writeWithoutResponse]) }
        guard !writable.isEmpty else { throw NoMatchingProfile(reasons: ["\(commandUUID) cannot be written"]) }
        let readable = responses.filter { profile == .draft && !$0.notifies && $0.properties.contains(.read) }
        let usable = responses.filter(\.notifies) + readable
        guard !usable.isEmpty else {
            throw NoMatchingProfile(reasons: [
                "\(responseUUID) \(profile == .draft ? "can neither notify nor be read" : "cannot notify")"
            ])
        }
        let pairs = writable.indices.flatMap { command in usable.indices.map { (command, $0) } }
        // If a bottle has both characteristics twice, the first two belong together, and the last two.
        return (pairs.filter { $0 == $1 } + pairs.filter { $0 != $1 }).map { command, response in
            CharacteristicPair(profile: profile, command: writable[command], response: usable[response])
        }
    }
}

extension RemoteCharacteristic {
    /// Whether the characteristic supports notifications or indications.
    var notifies: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
}

extension [RemoteService] {
    /// The characteristics with this UUID in the services with a 16-bit UUID.
    fileprivate func characteristics(_ uuid: BluetoothUUID, in service: UInt16) -> [RemoteCharacteristic] {
        filter { $0.uuid == BluetoothUUID(service) }.flatMap(\.characteristics).filter { $0.uuid == uuid }
    }

    /// The value handle of a characteristic that can be read; `nil` if there is none.
    func valueHandle(ofReadable uuid: BluetoothUUID, in service: UInt16) -> UInt16? {
        characteristics(uuid, in: service).first { $0.properties.contains(.read) }?.handle
    }
}
