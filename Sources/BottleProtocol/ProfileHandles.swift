/// A characteristic with a 16-bit UUID as discovery found it.
package struct OfferedCharacteristic: Hashable, Sendable {
    /// The service that it stands in, by its 16-bit UUID.
    package var service: UInt16
    /// Its own 16-bit UUID.
    package var uuid: UInt16
    /// Of the value.
    package var handle: UInt16
    /// The bit field of its declaration (Core 5.4, Vol 3 Part G, 3.3.1.1).
    package var properties: UInt8

    package init(service: UInt16, uuid: UInt16, handle: UInt16, properties: UInt8) {
        self.service = service
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
    }

    var canBeRead: Bool { properties & 0x02 != 0 }
    var takesWritesWithoutResponse: Bool { properties & 0x04 != 0 }
    var takesWrites: Bool { properties & 0x08 != 0 }
    /// By notification or indication.
    var notifies: Bool { properties & 0x30 != 0 }
}

/// Which profile a bottle speaks, and through which handles (protocol law P1.1).
///
/// Short UUIDs such as FFE0 are shared by countless gadgets, so a service of the right name proves nothing: the
/// characteristics must be there with the properties that the profile needs.
package struct ProfileHandles: Hashable, Sendable {
    /// The profile whose characteristics were found.
    package var profile: BottleProfile
    /// Handle of the command characteristic's value.
    package var command: UInt16
    /// How the command characteristic is written.
    package var commandWithResponse: Bool
    /// The other way of writing is offered too.
    package var commandBothWays: Bool
    /// Handle of the response characteristic's value.
    package var response: UInt16
    /// Responses come by notification or indication.
    package var responseNotifies: Bool
    /// Responses can be read: the draft profile's second way.
    package var responseReads: Bool

    /// Why a table is no bottle's: a sentence for each profile.
    package struct NoBottle: Error, Hashable, Sendable {
        /// One sentence for each profile that was looked for, the retail one first.
        package var reasons: [String]
    }

    /// Both profiles in one table: the retail one says more, so it is tried first.
    package init(matching offered: [OfferedCharacteristic]) throws(NoBottle) {
        self = try Self.all(matching: offered)[0]
    }

    /// The handles of each pair of characteristics that a profile could use, the likeliest first; never empty. A table
    /// may hold a characteristic twice, and only one of the two may be served.
    package static func all(matching offered: [OfferedCharacteristic]) throws(NoBottle) -> [ProfileHandles] {
        var reasons: [String] = []
        for profile in [BottleProfile.retail, .draft] {
            let commands = offered.filter {
                $0.service == profile.commandService && $0.uuid == profile.commandCharacteristic
            }
            let responses = offered.filter {
                $0.service == profile.responseService && $0.uuid == profile.responseCharacteristic
            }
            var found: [ProfileHandles] = []
            do {
                found = [try Self(profile, commands, responses)]
            } catch {
                reasons += error.reasons
                continue
            }
            for command in commands {
                for response in responses {
                    if let other = try? Self(profile, [command], [response]), !found.contains(other) {
                        found.append(other)
                    }
                }
            }
            return found
        }
        throw NoBottle(reasons: reasons)
    }

    private init(
        _ profile: BottleProfile, _ commands: [OfferedCharacteristic], _ responses: [OfferedCharacteristic]
    ) throws(NoBottle) {
        let commandName = Self.text(profile.commandCharacteristic)
        let responseName = Self.text(profile.responseCharacteristic)
        guard !commands.isEmpty else {
            throw NoBottle(reasons: ["the \(profile.rawValue) profile's \(commandName) is missing"])
        }
        guard !responses.isEmpty else {
            throw NoBottle(reasons: ["the \(profile.rawValue) profile's \(responseName) is missing"])
        }
        guard let command = commands.first(where: { $0.takesWrites || $0.takesWritesWithoutResponse }) else {
            throw NoBottle(reasons: ["\(commandName) cannot be written"])
        }
        let notifying = responses.first { $0.notifies }
        let reading = profile == .draft ? responses.first { $0.canBeRead } : nil
        guard let response = notifying ?? reading else {
            throw NoBottle(reasons: [
                "\(responseName) \(profile == .draft ? "can neither notify nor be read" : "cannot notify")"
            ])
        }
        self.profile = profile
        self.command = command.handle
        commandWithResponse = command.takesWrites
        commandBothWays = command.takesWrites && command.takesWritesWithoutResponse
        self.response = response.handle
        responseNotifies = notifying != nil
        responseReads = profile == .draft && response.canBeRead
    }

    private static func text(_ uuid: UInt16) -> String {
        hexText([UInt8(uuid >> 8), UInt8(truncatingIfNeeded: uuid)]).filter { $0 != " " }
    }
}
