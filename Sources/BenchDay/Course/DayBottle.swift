import Bluetooth
import BottleProtocol

/// The bottle on one connection: steps are tried on it, each with everything that came meanwhile.
actor DayBottle {
    private let client: DayClient
    /// Of a bottle that answers late, longer ones: what came after its step would be laid to the next.
    private(set) var limits: DayLimits
    private let clock: MonotonicClock
    private let wall: @Sendable () -> BottleClock
    private let connection: Int
    private let command: RemoteCharacteristic
    private let response: RemoteCharacteristic
    private let names: [UInt16: BluetoothUUID]
    let profile: BottleProfile
    /// The question in whose answer the bottle hung up, with what had come by then.
    private(set) var brokenOff: DayStep?

    init(
        _ client: DayClient, _ services: [RemoteService], connection: Int, limits: DayLimits, clock: MonotonicClock,
        wall: @escaping @Sendable () -> BottleClock
    ) throws {
        let all = services.flatMap(\.characteristics)
        func found(_ profile: BottleProfile) -> (RemoteCharacteristic, RemoteCharacteristic)? {
            guard let command = all.first(where: { $0.uuid == BluetoothUUID(profile.commandCharacteristic) }),
                let response = all.first(where: { $0.uuid == BluetoothUUID(profile.responseCharacteristic) })
            else { return nil }
            return (command, response)
        }
        // Bottles on sale are what a day is for.
        guard
            let (profile, pair) = [BottleProfile.retail, .draft].lazy.compactMap({ profile in
                found(profile).map { (profile, $0) }
            }).first
        else {
            throw LinkError(.protocolViolation, "It shows neither profile's characteristics, so nothing can be asked.")
        }
        (self.client, self.limits, self.clock, self.wall, self.connection) = (client, limits, clock, wall, connection)
        (self.profile, (command, response)) = (profile, pair)
        names = Dictionary(all.map { ($0.handle, $0.uuid) }, uniquingKeysWith: { first, _ in first })
    }

    func subscribe() async throws {
        await client.forget()
        try await client.subscribe(response.handle, within: limits.request)
    }

    /// What comes by itself.
    func listen() async throws -> DayStep {
        // What came with the subscription belongs to it.
        try await watch(.listen) { [limits] in try await $0.listen(within: limits.listen) }
    }

    /// The person does something meanwhile.
    func live(_ act: DayAct, _ body: @Sendable () async -> Void) async throws -> DayStep {
        await client.forget()
        return try await watch(.live(act)) { [limits] client in
            await body()
            try await client.listen(within: limits.live)
        }
    }

    private func watch(_ kind: DayStep.Kind, _ body: @Sendable (DayClient) async throws -> Void) async throws -> DayStep
    {
        var step = DayStep(kind, connection: connection, at: wall())
        let start = clock.now()
        try await body(client)
        step.values = await client.values(since: start, names)
        step.isCutOff = await client.isCutOff
        return step
    }

    func snapshot(_ kind: DayStep.Kind = .snapshot) async throws -> DayStep {
        try await ask(kind, HostCommand.snapshot.encoded, again: true) {
            $0.contains { (try? Frame(decoding: $0))?.operation == .response }
        }
    }

    /// The whole log.
    func dump(_ kind: DayStep.Kind = .dump) async throws -> DayStep {
        try await ask(
            kind, profile == .draft ? HostCommand.draftDump(1).encoded : HostCommand.drinkLog.encoded, again: true
        ) { $0.contains(BottleMessage.logEmpty.frame.encoded) }
    }

    func bare(_ byte: UInt8) async throws -> DayStep {
        try await ask(.bare(byte), [byte]) { $0.contains(BottleMessage.logEmpty.frame.encoded) }
    }

    /// - Parameter isAnswered: without, nothing is waited for.
    func send(_ command: HostCommand, isAnswered: Bool = true) async throws -> DayStep {
        let type = (try? Frame(decoding: command.encoded).entries())?.first?.type
        return try await ask(.command(command), command.encoded, wait: isAnswered) { values in
            values.contains { value in
                (try? Frame(decoding: value)).flatMap { try? $0.entries() }?.contains { $0.type == type } == true
            }
        }
    }

    /// Writes to the characteristic that only answers.
    func hangUp() async throws -> DayStep {
        var step = DayStep(.hangUp, connection: connection, at: wall(), sent: [1])
        // Most stacks refuse what the table does not offer; a write without an answer is what owners tried.
        let open = RemoteCharacteristic(uuid: response.uuid, handle: response.handle, properties: .writeWithoutResponse)
        do {
            try await client.write([1], to: open, within: limits.request)
            try await client.listenForEnd(within: limits.answer)
        } catch let error as LinkError where error.code != .disconnected {
            step.refusal = error.sentence
        } catch is LinkError {}
        step.isCutOff = await client.isCutOff
        return step
    }

    /// Writes it, and waits for what comes.
    private func ask(
        _ kind: DayStep.Kind, _ bytes: [UInt8], again: Bool = false, wait: Bool = true,
        until isDone: @escaping @Sendable ([[UInt8]]) -> Bool
    ) async throws -> DayStep {
        var step = DayStep(kind, connection: connection, at: wall(), sent: bytes)
        let start = clock.now()
        await client.forget()
        let response = response.handle
        while true {
            do {
                try await client.write(bytes, to: command, within: limits.request)
            } catch let error as LinkError where error.code != .disconnected {
                step.refusal = error.sentence
                return step
            }
            step.sendings += 1
            guard wait else { break }
            try await client.listen(within: limits.answer, quiet: limits.quiet, until: isDone)
            // A log that was announced has the time of an answer to begin; silence ends one that has begun.
            if await client.hasCome(BottleMessage.logFollows.frame.encoded, andNothingOf: FrameOperation.put.letters) {
                try await client.listen(within: limits.answer) {
                    $0.contains { $0.starts(with: FrameOperation.put.letters) }
                }
                try await client.listen(within: limits.quiet, quiet: limits.quiet, until: isDone)
            }
            if await client.isCutOff {
                step.values = await client.values(since: start, names)
                step.isCutOff = true
                brokenOff = step
                throw LinkError(.disconnected, "The bottle hung up.", isTransient: true)
            }
            let hasCome = await client.hasCome(from: response)
            if let first = await client.values(since: start, names).first(where: {
                $0.characteristic == self.response.uuid
            }) {
                limits.wait(forAnswersAfter: first.after)
            }
            guard again, !hasCome, step.sendings < limits.sendings else {
                // What was asked more than once is answered more than once, and none of it belongs to the next step.
                if step.sendings > 1, hasCome { try await client.listen(within: limits.answer) }
                break
            }
        }
        step.values = await client.values(since: start, names)
        return step
    }
}
