package import Bluetooth
import BottleProtocol
import TrackerCore

/// The steps between the connection and the use of the bottle.
enum OpeningStep: Hashable, Sendable {
    case discovering
    /// - Parameter serialNumber: the value handle of Serial Number String (2A25), if readable.
    case readingName(serialNumber: UInt16?)
    case readingSerial, subscribing

    var action: String {
        switch self {
        case .discovering: "discover the services"
        case .readingName: "read the name"
        case .readingSerial: "read the serial number"
        case .subscribing: "subscribe"
        }
    }
}

/// An event of a kept connection while no poll is running.
package enum ConnectionEvent: Hashable, Sendable {
    case reported
    case lost
}

// The part of a poll from a connection to an identified and subscribed bottle.
extension Poll {
    mutating func open(_ peer: PeerID, mtu: Int) {
        connections += 1
        report.history.failedScans = 0
        reportProgress(.connected)
        let opening = Activity.opening(.discovering, until: now.advanced(by: limits.discover))
        state = .connected(Session(peer: peer, mtu: mtu), opening)
        perform(.discover)
    }

    mutating func processOpening(_ session: Session, _ opening: OpeningStep, _ event: CentralEvent) throws {
        switch (opening, event) {
        case (.discovering, .discovered(let services)): try discovered(services, session)
        case (.discovering, .discoveryFailed(let error)): try disconnectAndRecover(error)
        case (.readingName(let serialNumber), .read(_, let value)):
            report.name = BottleIdentity.name(value)
            try readSerial(serialNumber, session)
        case (.readingSerial, .read(_, let value)):
            serialNumber = BottleIdentity.from(serialNumber: value)
            try identify(session)
        case (.readingName, .readFailed(_, let error)), (.readingSerial, .readFailed(_, let error)):
            try readFailed(error, session, opening)
        case (.subscribing, .subscribed): try startSteps(session)
        case (.subscribing, .subscribeFailed(_, let error)): try subscribeFailed(error, session)
        default: break
        }
    }

    private mutating func discovered(_ services: [RemoteService], _ session: Session) throws {
        var session = session
        do {
            let pairs = try CharacteristicPair.all(in: services)
            session.pair = pairs[pairIndex % pairs.count]
            session.pairCount = pairs.count
        } catch {
            return try rejectServices(services, error)
        }
        let serialNumber = services.valueHandle(ofReadable: 0x2A25, in: 0x180A)
        report.profile = session.pair?.profile
        if let handle = services.valueHandle(ofReadable: 0x2A00, in: 0x1800), report.name == nil {
            request(.read(handle: handle), session, .readingName(serialNumber: serialNumber))
        } else {
            try readSerial(serialNumber, session)
        }
    }

    /// Rejects the services. Removes the device from the system's cache once, because the cached table can be outdated.
    private mutating func rejectServices(
        _ services: [RemoteService], _ error: CharacteristicPair.NoMatchingProfile
    ) throws {
        let names = services.prefix(12).map(\.uuid.description).joined(separator: ", ")
        let found = names.isEmpty ? "no services" : "the services \(names)"
        let sentence = "it has \(found): \(error.reasons.joined(separator: "; "))."
        let peer = report.name.map { "'\($0)'" } ?? "the peer at \(linkName)"
        guard !hasRadio || failures[.protocolViolation] != nil else {
            return try disconnectAndRecover(
                LinkError(
                    .protocolViolation, "\(peer) does not have the services of a bottle: \(sentence)",
                    isTransient: true))
        }
        reject(
            PollFailure(.unexpectedResponse, "\(peer) is not a WaterH bottle: \(sentence)", code: "noBottle"))
    }

    private mutating func readSerial(_ handle: UInt16?, _ session: Session) throws {
        guard let handle, address == nil else { return try identify(session) }
        request(.read(handle: handle), session, .readingSerial)
    }

    private mutating func request(_ request: CentralRequest, _ session: Session, _ opening: OpeningStep) {
        state = .connected(session, .opening(opening, until: now.advanced(by: limits.request)))
        perform(request)
    }

    private mutating func readFailed(_ error: LinkError, _ session: Session, _ opening: OpeningStep) throws {
        guard error.code != .disconnected else { return }
        // Only a rejection is permanent. After a lost response, another connection must read the same identity.
        guard error.code == .refused else { return try disconnectAndRecover(error) }
        if case .readingName(let serialNumber) = opening {
            addDiagnostic(.info, "The bottle's name could not be read: \(error.sentence)")
            try readSerial(serialNumber, session)
        } else {
            addDiagnostic(.info, "The bottle's serial number could not be read: \(error.sentence)")
            try identify(session)
        }
    }

    // MARK: - Identity

    private var hasPrivateAddress: Bool { lastAdvertisement?.isAddressPrivate == true }
    private var address: BluetoothAddress? { hasPrivateAddress ? nil : lastAdvertisement?.address }

    var bottle: String { report.identity ?? linkName }

    private var names: BottleNames {
        var names = BottleNames(bottle, alias: options.alias)
        names.wasAdopted = options.ownBottles.contains { $0.matches(identity: bottle, alias: options.alias) }
        return names
    }

    mutating func identify(_ session: Session) throws {
        let identity = address?.description ?? serialNumber ?? substituteIdentity
        let isFirstCheck = report.bottle == nil
        (report.identity, report.bottle) = (identity, identity)
        guard isNamed(identity) else {
            let name = report.name.map { " (\($0))" } ?? ""
            return reject(
                PollFailure(
                    .notFound, "the bottle on \(linkName) is \(identity)\(name), not \(options.bottle ?? "").",
                    code: "otherBottleThanNamed"))
        }
        guard options.allows(identity: identity) else {
            return reject(options.notOwnedFailure(name: report.name, identity: identity))
        }
        if address == nil, serialNumber == nil, isFirstCheck { warnOfSubstituteIdentity(identity) }
        setAlias(identity)
        if options.job == .poll, let journal = context?.journal { storedBottle = try journal.storedState(of: names) }
        guard let pair = session.pair, pair.response.notifies, !session.isResumed else {
            return try startSteps(session)
        }
        request(.subscribe(handle: pair.response.handle), session, .subscribing)
    }

    private func isNamed(_ identity: String) -> Bool {
        guard let selected = options.bottle else { return true }
        let selector = BottleSelector(text: selected)
        return identity == selected || selector.matches(address: BluetoothAddress(identity), name: report.name)
            || hasPrivateAddress && selector.matches(address: lastAdvertisement?.address, name: report.name)
    }

    /// Disconnects a bottle that was not requested, and scans again.
    private mutating func reject(_ failure: PollFailure) {
        report.failure = failure
        if let peer = state.session?.peer { nearbyPeers.rejected.insert(peer) }
        guard hasRadio, options.bottle == nil, connections < limits.sessions else { return disconnect(then: .finish) }
        (report.bottle, report.identity, serialNumber) = (nil, nil, nil)
        addDiagnostic(.info, failure.sentence + " The scan continues.")
        disconnect(then: .scan)
    }

    /// The substitute identity of a bottle without a public address and a valid serial number: its name, and its link
    /// unless the bottle has a private address.
    private var substituteIdentity: String {
        guard let name = report.name else { return "bottle at \(linkName)" }
        return hasPrivateAddress ? "\(name) (private address)" : "\(name) at \(linkName)"
    }

    /// Sets the bottle's alias in the report: its own, or the common one unless another bottle has it.
    private mutating func setAlias(_ identity: String) {
        let own = options.ownBottles.first { $0.matches(identity: identity, alias: options.alias) }
        report.bottle = own?.alias ?? identity
        options = options.applyingSettings(of: own)
        guard own?.alias == nil, let alias = options.alias else { return }
        let isTaken = options.ownBottles.contains {
            $0.aliases.contains(alias) && !$0.matches(identity: identity, alias: alias)
        }
        if !isTaken { report.bottle = alias }
    }

    private mutating func warnOfSubstituteIdentity(_ identity: String) {
        guard hasPrivateAddress, report.name != nil else {
            return addDiagnostic(
                .warning,
                """
                The bottle has no valid serial number. Its drinks are stored under '\(identity)', which changes with \
                its name and with the link.
                """)
        }
        addDiagnostic(
            .warning,
            """
            The bottle has a private address (\(lastAdvertisement?.address?.description ?? "unknown"), which changes) \
            and no valid serial number. Its drinks are stored under '\(identity)', as would be those of another such \
            bottle with this name.
            """)
    }

    /// Adopts a bottle that has responded. A connection alone or a replay is not sufficient.
    mutating func adopt() throws {
        guard !hasResponded, options.job == .poll, !options.isReplay else { return }
        try context?.journal.adopt(names)
        hasResponded = true
        report.isAdopted = options.ownBottles.isEmpty
    }

    // MARK: - Subscription

    private mutating func subscribeFailed(_ error: LinkError, _ session: Session) throws {
        guard error.code != .disconnected else { return }
        guard session.pair?.responseCanBeRead == true else {
            // bluetoothd can fail because it has not ended an earlier subscription.
            guard [.refused, .invalidState].contains(error.code) else { return try disconnectAndRecover(error) }
            return giveUp(
                PollFailure(
                    .unexpectedResponse,
                    """
                    the bottle rejects the subscription to its response characteristic: \
                    \(error.sentence)
                    """,
                    linkError: .refused))
        }
        addDiagnostic(
            .warning, "The subscription failed (\(error.sentence)): the gateway reads the values instead.")
        var session = session
        session.pair?.response.properties.subtract([.notify, .indicate])
        try startSteps(session)
    }

    private mutating func startSteps(_ session: Session) throws {
        var session = session
        session.steps = steps(session)
        try startNextStep(session)
    }

    private func steps(_ session: Session) -> [Session.Step] {
        if case .send(let commands) = options.job { return commands.map { .send($0) } }
        guard session.pair?.profile == .retail, !options.writesOnlyLogRequest else { return [.log] }
        return [.snapshot, .log, .clock, .goal] + (options.managesTodayAmount ? [.todayAmount] : [])
            + (options.managesLight ? [.light] : [])
    }

    // MARK: - Kept connection

    mutating func resume(_ held: Poll) {
        state = held.state
        (lastAdvertisement, serialNumber) = (held.lastAdvertisement, held.serialNumber)
        pairIndex = held.pairIndex
        (report.name, report.model, report.profile) = (held.report.name, held.report.model, held.report.profile)
        (report.identity, report.bottle) = (held.report.identity, held.report.bottle)
    }

    mutating func startHeld(_ session: Session) throws {
        guard options.job != .disconnect, options.job != .scan, isForHeldBottle else {
            (report.identity, report.bottle, serialNumber) = (nil, nil, nil)
            (report.name, report.model, report.profile) = (nil, nil, nil)
            return disconnect(then: options.job == .disconnect ? .finish : .scan)
        }
        connections += 1
        var session = session
        session.isResumed = true
        session.log = LogProgress(
            expectsStaleData: session.log.expectsStaleData, truncatedLength: session.log.truncatedLength)
        state = .connected(session, .opening(.subscribing, until: now.advanced(by: limits.request)))
        try identify(session)
    }

    /// Whether a poll with these options is for the bottle on the kept connection.
    private var isForHeldBottle: Bool {
        if let selected = options.bottle {
            return bottle == selected
                || BottleSelector(text: selected).matches(address: BluetoothAddress(bottle), name: report.name)
        }
        func isAmong(_ bottles: [AdoptedBottle]) -> Bool {
            bottles.contains { $0.matches(identity: bottle, alias: options.alias) }
        }
        return !isAmong(options.otherBottles) && (options.ownBottles.isEmpty || isAmong(options.ownBottles))
    }

    package var isKeepingConnection: Bool { if case .held = state { true } else { false } }

    package mutating func handleIdle(_ event: CentralEvent) -> ConnectionEvent? {
        guard case .held(var session) = state else { return nil }
        switch event {
        case .disconnected, .unavailable:
            state = .over
            return .lost
        case .mtuChanged(let size): session.mtu = size
        case .notification(let handle, let value) where handle == session.pair?.response.handle:
            // Without a current request, log bytes are the response to an earlier one.
            if (try? Frame(decoding: value))?.operation != .report { session.log.expectsStaleData = true }
            state = .held(session)
            return .reported
        default: break
        }
        state = .held(session)
        return nil
    }
}
