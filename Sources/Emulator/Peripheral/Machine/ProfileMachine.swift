package import Bluetooth

/// The state machine of a cloned peripheral, which responds as recorded and with the recorded delays.
///
/// The link handles discovery, subscriptions and the MTU; the state machine handles reads, writes and notifications. It
/// accepts one central, and does not advertise while a central is connected.
package struct ProfileMachine: PeripheralMachine {
    package enum Mode: String, Sendable, CaseIterable {
        /// Uses the recorded exchanges of a request in order, each once; then the last one repeats.
        case once
        /// Like `once`, but after the last exchange the first one follows, and the values of a subscription repeat.
        case loop
        /// Accepts only the recorded requests in their order. Each connection follows the next recorded one.
        case strict
        /// Like `once`, but requests that were not recorded are logged. Rules determine their responses.
        case new
    }

    /// The maximum number of requests whose values are being sent.
    private static let maximumSchedules = 64
    /// The maximum length of a chain of rules after one request.
    static let longestChain = 64
    /// The maximum delay of a response in milliseconds. Links drop a response that is later than 25 s.
    private static let longestDelay = 20_000
    private static let confirmationLimit = Duration.seconds(30)
    private static let maximumUnknown = 1000

    private struct Attribute {
        var uuid: BluetoothUUID?
        var properties: CharacteristicProperties
        var value: [UInt8]?
        /// The handle of the Client Characteristic Configuration.
        var cccdHandle: UInt16?
    }

    package let profile: PeripheralProfile
    package let mode: Mode
    package let application: GATTApplication
    package let remarks: [String]

    /// Whether the link distinguishes writes with and without response. bluetoothd does not, if both are supported.
    private let distinguishesWrites: Bool
    private var index: ExchangeIndex
    /// The characteristic values and the descriptors, by handle.
    private let attributes: [UInt16: Attribute]

    private var central: CentralID?
    private var subscriptions: Set<UInt16> = []
    /// The recorded values that were sent without a request. They are sent after a subscription.
    private var unrequestedValues: [UInt16: [PeripheralProfile.Value]] = [:]
    private var schedules: [ValueSchedule] = []
    private var responses: [(due: MonotonicInstant, token: UInt64, response: PeripheralRequest.Response)] = []
    private var confirmationDeadline: MonotonicInstant?
    /// The index of the next exchange in strict mode, and the index after its connection's last exchange.
    private var cursor = 0
    private var cursorEnd = 0
    private var connections = 0
    private var reportedUnknown: Set<ExchangeIndex.Key> = []
    private var effects: [PeripheralMachineEffect] = []

    /// - Parameter profile: a profile that has passed `check`.
    /// - Parameter distinguishesWrites: whether the link distinguishes writes with and without response. If not, writes
    ///   match both.
    package init(_ profile: PeripheralProfile, mode: Mode = .once, distinguishesWrites: Bool = true) {
        self.profile = profile
        self.mode = mode
        self.distinguishesWrites = distinguishesWrites
        (application, remarks) = profile.application()
        index = ExchangeIndex(profile)
        var attributes: [UInt16: Attribute] = [:]
        for (service, local) in zip(profile.services, application.services) {
            for (characteristic, local) in zip(service.characteristics, local.characteristics) {
                attributes[characteristic.handle] = Attribute(
                    uuid: local.uuid, properties: characteristic.properties, value: characteristic.value?.bytes,
                    cccdHandle: local.descriptors.first { $0.uuid == GATTTable.cccd }?.handle)
                for descriptor in characteristic.descriptors {
                    attributes[descriptor.handle] = Attribute(
                        uuid: descriptor.uuid, properties: [.read, .write], value: descriptor.value?.bytes)
                }
            }
        }
        self.attributes = attributes
    }

    package var nextDeadline: MonotonicInstant? {
        let next = central == nil ? nil : confirmationDeadline ?? schedules.map(\.due).min()
        return ([next] + responses.map { $0.due }).compactMap { $0 }.min()
    }

    package mutating func handle(_ event: PeripheralMachineEvent, at now: MonotonicInstant) -> [PeripheralMachineEffect]
    {
        if case .link(let event) = event { handle(event, at: now) }
        respondDue(at: now)
        sendDueValues(at: now)
        defer { effects = [] }
        return effects
    }

    private mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) {
        switch event {
        case .connected(let id): connect(id, at: now)
        case .disconnected(let id) where id == central: disconnect()
        case .subscribed(let id, let uuid) where id == central:
            subscribe(PeripheralProfile.handle(of: uuid), at: now)
        case .unsubscribed(let id, let uuid) where id == central:
            unsubscribe(PeripheralProfile.handle(of: uuid), at: now)
        case .read(let id, let uuid, let offset, let token):
            read(PeripheralProfile.handle(of: uuid), offset, id, token, at: now)
        case .write(let id, let uuid, let value, let token):
            write(PeripheralProfile.handle(of: uuid), value, id, token, at: now)
        case .notified: confirmationDeadline = nil
        case .unavailable(let error):
            disconnect()
            log("not advertising: \(error)")
        case .available: log("advertising again")
        case .disconnected, .subscribed, .unsubscribed, .mtuChanged: break
        }
    }

    private mutating func log(_ line: String) { effects.append(.log(line)) }

    // MARK: Connections

    private mutating func connect(_ id: CentralID, at now: MonotonicInstant) {
        guard central == nil else {
            log("\(id) rejected: \(central?.text ?? "another central") is connected")
            return effects.append(.link(.disconnect(id)))
        }
        central = id
        connections += 1
        effects.append(.link(.advertise(false)))
        log("\(id) connected")
        // Each connection uses the next recorded one.
        let number =
            index.starts.isEmpty
            ? nil : mode == .loop ? (connections - 1) % index.starts.count : min(connections, index.starts.count) - 1
        if mode == .strict, connections > index.starts.count {
            (cursor, cursorEnd) = (0, 0)
        } else if let number {
            cursor = index.starts[number]
            cursorEnd = number + 1 < index.starts.count ? index.starts[number + 1] : index.exchanges.count
        }
        let connectExchange = index.exchanges[cursor..<cursorEnd].first { $0.request == .connect }
        unrequestedValues = Dictionary(grouping: connectExchange?.values ?? [], by: \.handle)
    }

    private mutating func disconnect() {
        guard let id = central else { return }
        central = nil
        subscriptions = []
        (schedules, responses, unrequestedValues) = ([], [], [:])
        confirmationDeadline = nil
        effects.append(.link(.advertise(true)))
        log("\(id) disconnected")
    }

    private mutating func subscribe(_ handle: UInt16, at now: MonotonicInstant) {
        subscriptions.insert(handle)
        scheduleUnrequestedValues(of: handle, at: now)
        subscriptionChanged(handle, [[1, 0], [2, 0], [3, 0]], at: now)
    }

    private mutating func scheduleUnrequestedValues(of handle: UInt16, at now: MonotonicInstant) {
        guard let values = unrequestedValues.removeValue(forKey: handle) else { return }
        schedule(ValueSchedule(values, at: now))
    }

    private mutating func unsubscribe(_ handle: UInt16, at now: MonotonicInstant) {
        subscriptions.remove(handle)
        // The values of a subscription stop when the subscription ends.
        schedules.removeAll { $0.owner == handle }
        subscriptionChanged(handle, [[0, 0]], at: now)
    }

    /// Sends the recorded values after a change of a subscription. The link has responded to the write.
    private mutating func subscriptionChanged(_ handle: UInt16, _ values: [[UInt8]], at now: MonotonicInstant) {
        guard let cccdHandle = attributes[handle]?.cccdHandle else { return }
        if mode == .strict {
            skipExchanges(before: cccdHandle, values)
            guard cursor < cursorEnd, index.exchanges[cursor].handle == cccdHandle,
                values.contains(index.exchanges[cursor].value?.bytes ?? [])
            else {
                return reportMismatch("\(values == [[0, 0]] ? "unsubscribed from" : "subscribed to") \(label(handle))")
            }
            cursor += 1
            return schedule(index.exchanges[cursor - 1], of: handle, at: now)
        }
        for request in [PeripheralProfile.Request.write, .command] {
            for value in values {
                guard
                    let exchange = index.nextExchange(
                        ExchangeIndex.Key(request: request, handle: cccdHandle, value: value), isLoop: mode == .loop)
                else { continue }
                return schedule(exchange, of: handle, at: now)
            }
        }
    }

    // MARK: Requests

    private mutating func read(
        _ handle: UInt16, _ offset: Int, _ id: CentralID, _ token: UInt64, at now: MonotonicInstant
    ) {
        let (readNotPermitted, invalidOffset, unlikelyError): (UInt8, UInt8, UInt8) = (0x02, 0x07, 0x0E)
        guard id == central else { return respond(token, .error(readNotPermitted)) }
        let value = attributes[handle]?.value
        guard offset == 0 else {
            // The central reads the rest of a value.
            let rest = value?.dropFirst(offset) ?? []
            return respond(token, offset <= value?.count ?? 0 ? .value(Array(rest)) : .error(invalidOffset))
        }
        let key = ExchangeIndex.Key(request: .read, handle: handle, value: [])
        switch recordedResponse(key) {
        case .refused: respond(token, .error(unlikelyError))
        case .exchange(let exchange): scheduleResponse(exchange.response, token, fallback: value, at: now)
        case .rule(let rule):
            scheduleResponse(rule.response, token, fallback: value ?? [], at: now)
            schedule(rule, depth: 1, at: now)
        case nil:
            if let value { return respond(token, .value(value)) }
            let mayRead = attributes[handle]?.properties.contains(.read) == true
            report(key, mayRead ? "rejected: its value is not in the capture" : "rejected: not readable")
            respond(token, .error(mayRead ? unlikelyError : readNotPermitted))
        }
    }

    private mutating func write(
        _ handle: UInt16, _ value: [UInt8], _ id: CentralID, _ token: UInt64?, at now: MonotonicInstant
    ) {
        let (writeNotPermitted, unlikelyError): (UInt8, UInt8) = (0x03, 0x0E)
        guard id == central else { return respond(token, .error(writeNotPermitted)) }
        let key = ExchangeIndex.Key(request: token == nil ? .command : .write, handle: handle, value: value)
        switch recordedResponse(key) {
        case .refused: respond(token, .error(unlikelyError))
        case .exchange(let exchange):
            scheduleResponse(exchange.response, token, fallback: [], at: now)
            schedule(exchange, at: now)
        case .rule(let rule):
            scheduleResponse(rule.response, token, fallback: [], at: now)
            schedule(rule, depth: 1, at: now)
        case nil:
            let required: CharacteristicProperties = token == nil ? .writeWithoutResponse : .write
            let mayWrite = attributes[handle]?.properties.contains(required) == true
            report(key, mayWrite ? "accepted without effect" : "rejected: this kind of write is not supported")
            respond(token, mayWrite ? .value([]) : .error(writeNotPermitted))
        }
    }

    private enum Recorded {
        case exchange(PeripheralProfile.Exchange)
        case rule(PeripheralProfile.Rule)
        case refused
    }

    /// Returns the recorded exchange or the rule for a request, depending on the mode; `nil` if there is none.
    private mutating func recordedResponse(_ key: ExchangeIndex.Key) -> Recorded? {
        guard mode == .strict else {
            for request in kinds(key.request) {
                let key = ExchangeIndex.Key(request: request, handle: key.handle, value: key.value)
                if let exchange = index.nextExchange(key, isLoop: mode == .loop) { return .exchange(exchange) }
            }
            guard mode == .new,
                let rule = profile.rules.first(where: { rule in
                    kinds(key.request).contains { rule.matches($0, key.handle, key.value) }
                })
            else { return nil }
            report(key, "answered by \(rule.name.map { "the rule '\($0)'" } ?? "a rule")")
            return .rule(rule)
        }
        skipExchanges(before: key.handle, [key.value])
        guard cursor < cursorEnd, kinds(key.request).contains(index.exchanges[cursor].request),
            index.exchanges[cursor].handle == key.handle,
            index.exchanges[cursor].value?.bytes ?? [] == key.value
        else {
            reportMismatch(text(key))
            return .refused
        }
        cursor += 1
        return .exchange(index.exchanges[cursor - 1])
    }

    private func kinds(_ request: PeripheralProfile.Request) -> [PeripheralProfile.Request] {
        if distinguishesWrites { return [request] }
        return switch request {
        case .write: [.write, .command]
        case .command: [.command, .write]
        case .read, .connect: [request]
        }
    }

    /// Skips exchanges that have no request: a connection, and a subscription that changes nothing.
    private mutating func skipExchanges(before handle: UInt16, _ values: [[UInt8]]) {
        while cursor < cursorEnd {
            guard let exchangeHandle = index.exchanges[cursor].handle else {
                cursor += 1
                continue
            }
            guard let value = attributes.first(where: { $0.value.cccdHandle == exchangeHandle })?.key else { return }
            let bytes = index.exchanges[cursor].value?.bytes ?? []
            let isThisSubscription = exchangeHandle == handle && values.contains(bytes)
            guard !isThisSubscription, subscriptions.contains(value) == (bytes.first != 0) else { return }
            cursor += 1
        }
    }

    // MARK: Responses

    private mutating func scheduleResponse(
        _ response: PeripheralProfile.Response?, _ token: UInt64?, fallback: [UInt8]?, at now: MonotonicInstant
    ) {
        guard let token else { return }
        let unlikelyError: UInt8 = 0x0E
        let scheduled: PeripheralRequest.Response =
            if let error = response?.error { .error(error) } else if let value = response?.value?.bytes ?? fallback {
                .value(value)
            } else { .error(unlikelyError) }
        responses.append(
            (now.advanced(by: .milliseconds(min(response?.afterMs ?? 0, Self.longestDelay))), token, scheduled))
    }

    private mutating func respond(_ token: UInt64?, _ response: PeripheralRequest.Response) {
        if let token { effects.append(.link(.respond(token: token, response))) }
    }

    private mutating func respondDue(at now: MonotonicInstant) {
        for waiting in responses where waiting.due <= now { respond(waiting.token, waiting.response) }
        responses.removeAll { $0.due <= now }
    }

    /// Starts to send the values of an exchange.
    /// - Parameter owner: the characteristic whose subscription causes the values.
    private mutating func schedule(
        _ exchange: PeripheralProfile.Exchange, of owner: UInt16? = nil, at now: MonotonicInstant
    ) {
        guard let values = exchange.values, !values.isEmpty else { return }
        schedule(ValueSchedule(values, at: now, owner: owner, isEndless: mode == .loop && owner != nil))
    }

    private mutating func schedule(_ rule: PeripheralProfile.Rule, depth: Int, at now: MonotonicInstant) {
        guard depth <= Self.longestChain else {
            return log("stopped after \(Self.longestChain) chained rules for one request")
        }
        schedule(ValueSchedule(rule.values ?? [], at: now, nextRule: rule.then, depth: depth))
    }

    private mutating func schedule(_ schedule: ValueSchedule) {
        if schedules.count >= Self.maximumSchedules {
            schedules.removeFirst()
            log("too many concurrent requests: dropping the values of the oldest one")
        }
        schedules.append(schedule)
    }

    private mutating func sendDueValues(at now: MonotonicInstant) {
        if let until = confirmationDeadline, until <= now {
            confirmationDeadline = nil
            log("no send confirmation within 30 s: sending the next value")
        }
        while confirmationDeadline == nil,
            let next = schedules.indices.min(by: { schedules[$0].due < schedules[$1].due }),
            schedules[next].due <= now
        {
            guard let value = schedules[next].current else {
                finish(schedules.remove(at: next), at: now)
                continue
            }
            schedules[next].advance()
            // Do not send a value without a subscriber.
            guard subscriptions.contains(value.handle) else { continue }
            confirmationDeadline = now.advanced(by: Self.confirmationLimit)
            effects.append(.link(.notify(PeripheralProfile.identifier(of: value.handle), value: value.value.bytes)))
        }
    }

    private mutating func finish(_ finished: ValueSchedule, at now: MonotonicInstant) {
        if let pause = finished.pause { return schedule(finished.repeated(at: now.advanced(by: pause))) }
        guard let name = finished.nextRule, let rule = profile.rules.first(where: { $0.name == name }) else { return }
        schedule(rule, depth: finished.depth + 1, at: now)
    }

    // MARK: Messages

    private func label(_ handle: UInt16) -> String {
        attributes[handle]?.uuid.map { "\(handle) (\($0))" } ?? "\(handle)"
    }

    private func text(_ key: ExchangeIndex.Key) -> String {
        switch key.request {
        case .read: "read \(label(key.handle))"
        case .write: "wrote \(Octets(key.value)) to \(label(key.handle))"
        case .command: "wrote \(Octets(key.value)) without response to \(label(key.handle))"
        case .connect: "connected"
        }
    }

    /// Reports each request once, up to a limit.
    private mutating func report(_ key: ExchangeIndex.Key, _ outcome: String) {
        guard reportedUnknown.count < Self.maximumUnknown, reportedUnknown.insert(key).inserted else { return }
        let line = "the host \(text(key)), which is not in the capture: \(outcome)"
        effects.append(mode == .new ? .unrecorded(line) : .log(line))
        if reportedUnknown.count == Self.maximumUnknown {
            log("\(Self.maximumUnknown) requests were not in the capture; further ones are not logged")
        }
    }

    private mutating func reportMismatch(_ done: String) {
        guard cursor < cursorEnd else {
            return effects.append(.unrecorded("the host \(done); the capture has no further request"))
        }
        let next = index.exchanges[cursor]
        let expected = text(
            ExchangeIndex.Key(request: next.request, handle: next.handle ?? 0, value: next.value?.bytes ?? []))
        effects.append(.unrecorded("the host \(done); expected by the capture: the host \(expected)"))
    }
}
