/// A discovered characteristic with a 16-bit UUID.
package struct OfferedCharacteristic: Hashable, Sendable {
    /// The 16-bit UUID of the characteristic's service.
    package var service: UInt16
    package var uuid: UInt16
    package var handle: UInt16
    /// The properties bit field (Core 5.4, Vol 3 Part G, 3.3.1.1).
    package var properties: UInt8

    package init(service: UInt16, uuid: UInt16, handle: UInt16, properties: UInt8) {
        self.service = service
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
    }

    var canBeRead: Bool { properties & 0x02 != 0 }
    var acceptsWritesWithoutResponse: Bool { properties & 0x04 != 0 }
    var acceptsWrites: Bool { properties & 0x08 != 0 }
    /// Whether the characteristic supports notifications or indications.
    var notifies: Bool { properties & 0x30 != 0 }
}

/// The GATT profile of a bottle, with the handles of its characteristics (protocol spec P1.1).
///
/// Other devices also use UUIDs such as FFE0, so the characteristics must have the properties of the profile.
package struct ProfileHandles: Hashable, Sendable {
    package var profile: BottleProfile
    package var command: UInt16
    package var writesCommandWithResponse: Bool
    /// Whether the command characteristic supports both kinds of writes.
    package var commandAcceptsBothWrites: Bool
    package var response: UInt16
    package var responseCanNotify: Bool
    /// Whether responses can be read, as in the draft profile.
    package var responseCanBeRead: Bool

    /// The error for a GATT table that matches no profile.
    package struct NoMatchingProfile: Error, Hashable, Sendable {
        /// The reason why each profile does not match, the retail profile first.
        package var reasons: [String]
    }

    /// All usable pairs of command and response characteristics, the most likely first; never empty. The retail profile
    /// takes precedence. A table can have a characteristic twice, of which only one might work.
    package static func all(matching offered: [OfferedCharacteristic]) throws(NoMatchingProfile) -> [ProfileHandles] {
        var reasons: [String] = []
        for profile in [BottleProfile.retail, .draft] {
            do throws(NoMatchingProfile) {
                return try pairs(of: profile, offered)
            } catch {
                reasons += error.reasons
            }
        }
        throw NoMatchingProfile(reasons: reasons)
    }

    private static func pairs(
        of profile: BottleProfile, _ offered: [OfferedCharacteristic]
    ) throws(NoMatchingProfile) -> [ProfileHandles] {
        let commands = offered.filter {
            $0.service == profile.commandService && $0.uuid == profile.commandCharacteristic
        }
        let responses = offered.filter {
            $0.service == profile.responseService && $0.uuid == profile.responseCharacteristic
        }
        let commandName = String(profile.commandCharacteristic, radix: 16, uppercase: true)
        let responseName = String(profile.responseCharacteristic, radix: 16, uppercase: true)
        guard !commands.isEmpty else {
            throw NoMatchingProfile(reasons: ["the \(profile.rawValue) profile's \(commandName) is missing"])
        }
        guard !responses.isEmpty else {
            throw NoMatchingProfile(reasons: ["the \(profile.rawValue) profile's \(responseName) is missing"])
        }
        let writable = commands.filter { $0.acceptsWrites || $0.acceptsWritesWithoutResponse }
        guard !writable.isEmpty else { throw NoMatchingProfile(reasons: ["\(commandName) cannot be written"]) }
        let usable =
            responses.filter(\.notifies)
            + (profile == .draft ? responses.filter { $0.canBeRead && !$0.notifies } : [])
        guard !usable.isEmpty else {
            throw NoMatchingProfile(reasons: [
                "\(responseName) \(profile == .draft ? "can neither notify nor be read" : "cannot notify")"
            ])
        }
        let pairs = writable.indices.flatMap { command in usable.indices.map { (command, $0) } }
        // If a bottle has both characteristics twice, the first two belong together, and the last two.
        return (pairs.filter { $0 == $1 } + pairs.filter { $0 != $1 }).map { command, response in
            let (command, response) = (writable[command], usable[response])
            return ProfileHandles(
                profile: profile, command: command.handle, writesCommandWithResponse: command.acceptsWrites,
                commandAcceptsBothWrites: command.acceptsWrites && command.acceptsWritesWithoutResponse,
                response: response.handle, responseCanNotify: response.notifies,
                responseCanBeRead: profile == .draft && response.canBeRead)
        }
    }
}
