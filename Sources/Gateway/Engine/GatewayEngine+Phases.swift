import BottleProtocol
import Bluetooth
import TrackerCore

// The way from scan to session and from there to what comes next.
extension GatewayEngine {
    mutating func scan() {
        guard !isOutOfTime else { return close(nil) }
        phase = .scanning
        phaseDeadline = work.now.advanced(by: work.limits.scan)
        work.show(.scanning)
        work.perform(.startScan)
    }

    mutating func consider(_ advertisement: Advertisement) {
        guard !strangers.contains(advertisement.peer) else { return }
        heard.note(advertisement)
        if work.hasRadio {
            if let wanted = work.options.bottle {
                guard BottleSelector(text: wanted).matches(address: advertisement.address, name: advertisement.name)
                else { return }
            } else {
                guard BottleSelector.looksLikeBottle(advertisement) else { return }
            }
            if !Ownership(work.options).mayBeOwn(advertisement) {
                if others.count < 16 { others[advertisement.peer] = advertisement }
                return
            }
        }
        peer = advertisement.peer
        work.seen = advertisement
        work.report.rssi = advertisement.rssi
        work.report.name = advertisement.name.flatMap { BottleIdentity.name(Array($0.utf8)) }
        work.perform(.stopScan)
        phase = .connecting(advertisement.peer)
        // The link gives up by itself; ours is the limit for a link that does not.
        phaseDeadline = work.now.advanced(by: work.limits.connect + .milliseconds(500))
        work.show(.connecting)
        work.perform(.connect(advertisement.peer, limit: work.limits.connect))
    }

    mutating func scanTimedOut() {
        work.perform(.stopScan)
        if !strangers.isEmpty, work.report.failure != nil { return close(work.report.failure) }
        work.report.history.failedScans += 1
        fail(notFound)
    }

    /// What was looked for, where and how long, and what else was there.
    private var notFound: LinkError {
        let seconds = Int((started?.duration(to: work.now) ?? work.limits.scan) / .seconds(1))
        var facts = ["looked for \(work.options.bottle ?? "a WaterH bottle") on \(work.linkName) for \(seconds) s"]
        if work.hasRadio { facts.append(heard.words(limit: 6)) }
        if let remark = heard.remark { facts.append(remark) }
        return LinkError(
            .notFound, "Could not find bottle. Make sure it's nearby. (\(facts.joined(separator: "; ")))\(othersSeen)",
            isTransient: true)
    }

    /// Why the time has passed without a word with any bottle; `nil` where that is not why.
    mutating func absence() -> PollFailure? {
        switch phase {
        case .connecting(let peer):
            let name = work.report.name.map { "\($0) (\(peer))" } ?? "\(peer)"
            return PollFailure(
                .connectFailed, "\(name) was seen, and did not connect within \(work.limits.poll).",
                linkError: .connectFailed)
        case .scanning, .pausing, .recovering:
            guard failures.keys.allSatisfy({ $0 == .notFound }) else { return nil }
            work.report.history.failedScans += 1
            return PollFailure(.notFound, notFound.description, linkError: .notFound, values: othersValues)
        default:
            return nil
        }
    }

    /// Something odd that the link tells of: about the air it is worth a word when nothing is found, about a connection
    /// at once.
    mutating func remark(_ sentence: String) {
        guard phase == .scanning else { return work.say(.warning, sentence) }
        heard.remark = sentence
        work.say(.info, sentence)
    }

    /// Sentences about bottles that are here and are not this store's; empty where none was seen.
    var othersSeen: String {
        others.values.sorted { $0.peer.text < $1.peer.text }.prefix(3).map { other in
            let name = other.name.flatMap { BottleIdentity.name(Array($0.utf8)) } ?? "A bottle"
            let address = other.address?.description ?? other.peer.text
            if work.options.others.contains(where: { $0.identities.contains(address) }) {
                return " \(name) (\(address)), another bottle of this store, is here."
            }
            return " \(name) (\(address)) is here, but is not this store's."
        }.joined()
    }

    /// Their addresses, for advice.
    var othersValues: [String: String] {
        let strangers = others.values.map { $0.address?.description ?? $0.peer.text }
            .filter { address in !work.options.others.contains { $0.identities.contains(address) } }.sorted().prefix(3)
        return strangers.isEmpty ? [:] : ["strangers": strangers.joined(separator: ", ")]
    }

    mutating func beginSession(mtu: Int) {
        sessions += 1
        phaseDeadline = nil
        work.report.history.failedScans = 0
        phase = .session
        session = BottleSession(mtu: mtu)
        session?.begin(&work)
    }

    // MARK: - Ends of a session

    /// Moves on once the session has ended and the journal has answered for what it left.
    mutating func followSession() {
        guard phase == .session, let session, let end = session.end, session.isSettled else { return }
        phaseDeadline = nil
        if let sentence = session.keeper.failure, work.report.failure == nil, end == .finished || !isFailure(end) {
            work.report.failure = PollFailure(
                session.keeper.failureKind, sentence)
            return disconnect(then: .finish)
        }
        switch end {
        case .finished:
            work.report.failure = nil
            work.report.history.suspectPeer = nil
            if !keep(session) { disconnect(then: .finish) }
        case .failed(let failure):
            work.report.failure = failure
            disconnect(then: .finish)
        case .stranger(let failure):
            work.report.failure = failure
            if let peer { strangers.insert(peer) }
            let goesOn = work.hasRadio && work.options.bottle == nil && sessions < work.limits.sessions
            // The next one is another: nothing of this one is remembered.
            if goesOn {
                (work.report.bottle, work.report.identity, work.serialNumber, work.recognised) = (nil, nil, nil, nil)
            }
            if goesOn { work.say(.info, failure.sentence + " Looking further.") }
            disconnect(then: goesOn ? .scan : .finish)
        case .lost(let error):
            disconnect(then: .recover(error))
        }
    }

    func isFailure(_ end: BottleSession.End) -> Bool {
        if case .failed = end { return true }
        return false
    }

    mutating func disconnect(then next: Next) {
        session = nil
        self.next = next
        phase = .disconnecting
        phaseDeadline = work.now.advanced(by: work.limits.closing)
        work.show(.disconnecting)
        work.perform(.disconnect)
    }

    mutating func afterDisconnect() {
        switch next {
        case .scan: scan()
        case .recover(let error): fail(error)
        case .finish: close(work.report.failure)
        }
    }
}
