import BottleProtocol
import Bluetooth
import TrackerCore

// From discovery to subscription: what the peer is, who it is, and whether it is the one meant.
extension BottleSession {
    mutating func discovered(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .discovered(let services):
            do {
                let found = try BottleTable(services: services)
                table = found
                work.report.profile = found.profile
                if case .send(let list) = work.options.job { commands = list }
                upcoming = plan(found, work)
                advance(&work)
            } catch {
                let seen = work.report.name.map { "'\($0)'" } ?? "the peer at \(work.linkName)"
                guard !work.hasRadio || work.isRediscovered else {
                    // The system keeps the tables of those it knows: after a firmware update it may have an empty or an
                    // old one.
                    work.isRediscovered = true
                    end = .lost(
                        LinkError(
                            .protocolViolation, "\(seen) shows no bottle's services: \(error.sentence)",
                            isTransient: true))
                    return
                }
                end = .stranger(
                    PollFailure(
                        .unexpectedResponse, "\(seen) is no WaterH bottle: \(error.sentence)", code: "noBottle"))
            }
        case .discoveryFailed(let error):
            end = .lost(error)
        default:
            break
        }
    }

    mutating func identityRead(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .read(_, let value):
            if step == .readName { work.report.name = BottleIdentity.name(value) }
            if step == .readSerial {
                work.serialNumber = BottleIdentity.from(serialNumber: value)
            }
            advance(&work)
        case .readFailed(_, let error):
            if error.code == .disconnected { return }
            // Only a refusal is the same tomorrow; a lost answer must not change who the bottle is.
            guard error.code == .refused else {
                end = .lost(error)
                return
            }
            work.say(
                .info,
                "The bottle's \(step == .readName ? "name" : "serial number") could not be read: \(error.sentence)")
            advance(&work)
        default:
            break
        }
    }

    mutating func identify(_ work: inout PollWork) {
        let identity = work.address?.description ?? work.serialNumber ?? work.recognised ?? standIn(work)
        let isFirstLook = work.report.bottle == nil
        work.report.identity = identity
        work.report.bottle = identity
        if let wanted = work.options.bottle {
            let found = identity
            let selector = BottleSelector(text: wanted)
            let isWanted =
                found == wanted || selector.matches(address: BluetoothAddress(found), name: work.report.name)
                || work.seen?.isAddressPrivate == true
                    && selector.matches(address: work.seen?.address, name: work.report.name)
            guard isWanted else {
                let name = work.report.name.map { " (\($0))" } ?? ""
                end = .stranger(
                    PollFailure(
                        .notFound, "the bottle at \(work.linkName) is \(found)\(name), not \(wanted).",
                        code: "otherBottleThanNamed"))
                return
            }
        }
        let isPoll = work.options.job == .poll
        if isPoll, let found = Recognition(work, standIn: identity) {
            recognition = found
            upcoming = [.subscribe, .recognise] + upcoming.filter { $0 != .subscribe }
            return advance(&work)
        }
        guard
            work.recognised != nil || work.options.job == .meet
                || Ownership(work.options).allows(identity: identity)
        else {
            end = .stranger(Ownership(work.options).refusal(name: work.report.name, identity: identity))
            return
        }
        if work.address == nil, work.serialNumber == nil, isFirstLook, work.options.job != .meet {
            warn(of: identity, &work)
        }
        call(identity, &work)
        advance(&work)
    }

    /// The bottle has spoken: from now on it is this store's own. A connection alone makes nobody's bottle ours, and a
    /// recording is nobody.
    mutating func noteAnswer(_ work: inout PollWork) {
        guard !work.isAnswered, work.isRecalled, work.options.job == .poll, !work.options.isRecording else { return }
        work.isAnswered = true
        work.report.isAdopted = work.options.own.isEmpty
        var names = work.names
        names.wasOwn = work.options.own.contains { $0.answers(to: names.identity, alias: work.options.alias) }
        keeper.adopt(names, &work)
    }

    /// Who it is, is certain. Under which name the report speaks of it: its own alias goes before that of all bottles.
    /// Two bottles never share one: the other one of this store keeps it.
    func call(_ identity: String, _ work: inout PollWork) {
        let own = work.options.own.first { $0.answers(to: identity, alias: work.options.alias) }
        work.report.bottle = own?.alias ?? identity
        work.followSettings(of: identity)
        guard own?.alias == nil, let alias = work.options.alias else { return }
        let isAnothers = work.options.own.contains {
            $0.aliases.contains(alias) && !$0.answers(to: identity, alias: alias)
        }
        if !isAnothers { work.report.bottle = alias }
    }

    /// What a bottle without an address of its own and without a serial number is known by.
    private func standIn(_ work: PollWork) -> String {
        let hidden = work.isHidden ? BottleIdentity.standIn(privateName: work.report.name) : nil
        return hidden ?? BottleIdentity.standIn(name: work.report.name, link: work.linkName)
    }

    private func warn(of identity: String, _ work: inout PollWork) {
        guard work.isHidden, work.report.name != nil else {
            return work.say(
                .warning,
                """
                The bottle gives no usable serial number; its drinks are kept under '\(identity)', as long as name \
                and link stay the same.
                """
            )
        }
        work.say(
            .warning,
            """
            The bottle hides its address (\(work.seen?.address?.description ?? "it is private") changes) and gives \
            no usable serial number; its drinks are kept under '\(identity)', and those of any other bottle of \
            that name that hides would be too.
            """
        )
    }

    mutating func subscribed(_ event: CentralEvent, _ work: inout PollWork) {
        switch event {
        case .subscribed:
            isListening = true
            advance(&work)
        case .subscribeFailed(_, let error):
            guard error.code != .disconnected else { return }
            guard table?.responseReads == true else {
                end = .failed(
                    PollFailure(
                        .unexpectedResponse,
                        """
                        the response characteristic says that it notifies, and refuses the subscription: \
                        \(error.sentence)
                        """,
                        linkError: .refused))
                return
            }
            work.say(
                .warning,
                "The response characteristic refuses the subscription (\(error.sentence)); it is read instead.")
            advance(&work)
        default:
            break
        }
    }
}
