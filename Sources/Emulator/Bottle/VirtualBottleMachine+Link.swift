import BottleProtocol
import Bluetooth

// Connections, writes, reads and notifications.
extension VirtualBottleMachine {
    /// The time after which a notification without a confirmation of the link counts as lost.
    private static let confirmationLimit = Duration.seconds(30)
    private static let keepAlivePeriod = Duration.seconds(5)

    mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) {
        switch event {
        case .connected(let central): connect(central, at: now)
        case .disconnected(let central) where central == session?.central: disconnect(at: now)
        case .mtuChanged(let central, let mtu) where central == session?.central: session?.mtu = mtu
        case .subscribed(let central, let uuid) where central == session?.central: subscribe(uuid, at: now)
        case .unsubscribed(let central, let uuid) where central == session?.central:
            session?.subscriptions.remove(uuid)
            session?.outbox.removeAll { $0.characteristic == uuid }
            if uuid == BottleGATTTables.keepAlive { session?.keepAliveAt = nil }
        case .read(let central, let uuid, let offset, let token):
            respondToRead(central, uuid, offset: offset, token: token, at: now)
        case .write(let central, let uuid, let value, let token):
            processWrite(value, to: uuid, from: central, token: token, at: now)
        case .notified(let uuid) where profile(respondingBy: uuid) != nil:
            let next = now.advanced(by: .milliseconds(plan[.gap]))
            session?.confirmationDeadline = nil
            session?.earliestNext = next
        case .unavailable(let error):
            if session != nil { disconnect(at: now) }
            advertisingError = error
            log("not advertising: \(error)")
        case .available:
            advertisingError = nil
            log("advertising again")
        case .disconnected, .mtuChanged, .subscribed, .unsubscribed, .notified: break
        }
    }

    /// The bottle accepts one connection. It stops advertising and disconnects further centrals.
    private mutating func connect(_ central: CentralID, at now: MonotonicInstant) {
        guard session == nil else {
            log("\(central) rejected: \(session?.central.text ?? "another central") is connected")
            return emit(.link(.disconnect(central)))
        }
        advertisingError = nil
        connections += 1
        guard connections > plan[.refuse] else {
            log("\(central) disconnected: fault 'refuse', connection \(connections)")
            return emit(.link(.disconnect(central)))
        }
        session = Session(central, identity.profile.profiles[0], at: now)
        if plan[.step] != 0 {
            clock.step(milliseconds: Int64(plan[.step]) * 1000, at: now)
            change { _ in }
        }
        emit(.link(.advertise(false)))
        log("\(central) connected")
    }

    private mutating func disconnect(at now: MonotonicInstant) {
        guard let central = session?.central else { return }
        session = nil
        if plan[.power] == connections {
            clock.losePower(at: now)
            change { _ in }
            log("power lost: the clock restarts at zero")
        }
        emit(.link(.advertise(true)))
        log("\(central) disconnected")
    }

    private mutating func subscribe(_ uuid: BluetoothUUID, at now: MonotonicInstant) {
        session?.subscriptions.insert(uuid)
        if let profile = profile(respondingBy: uuid) {
            session?.subscribedAt = now
            session?.profile = profile
            let unrequestedAt = now.advanced(by: .milliseconds(plan[.unasked]))
            if plan[.unasked] > 0 { session?.unrequestedAt = unrequestedAt }
        }
        if uuid == BottleGATTTables.keepAlive { session?.keepAliveAt = now.advanced(by: Self.keepAlivePeriod) }
    }

    private func profile(respondingBy uuid: BluetoothUUID) -> BottleProfile? {
        identity.profile.profiles.first { $0.response == uuid }
    }

    // MARK: Writes and reads

    private mutating func processWrite(
        _ value: [UInt8], to uuid: BluetoothUUID, from central: CentralID, token: UInt64?, at now: MonotonicInstant
    ) {
        let writeNotPermitted: UInt8 = 0x03
        guard central == session?.central else { return respond(token, .error(writeNotPermitted)) }
        if let profile = identity.profile.profiles.first(where: { $0.command == uuid }) {
            session?.profile = profile
            session?.unrequestedAt = nil
            command(value, at: now)
            return respond(token, .value([]))
        }
        switch uuid {
        case _ where profile(respondingBy: uuid) != nil:
            guard [[0x01], [0x01, 0x00], [0xFF]].contains(value) else {
                return respond(token, .error(writeNotPermitted))
            }
            log("disconnecting \(central): it wrote to the response characteristic")
            emit(.link(.disconnect(central)))
        case BottleGATTTables.firmwareUpdate:
            log("\(central) wrote \(value.count) bytes to the firmware update service, which is not emulated")
            respond(token, .value([]))
        default:
            respond(token, .error(writeNotPermitted))
        }
    }

    private mutating func respond(_ token: UInt64?, _ response: PeripheralRequest.Response) {
        if let token { emit(.link(.respond(token: token, response))) }
    }

    /// Responds to a read: at offset 0 with the next packet or an empty frame, at another offset with the rest of that.
    private mutating func respondToRead(
        _ central: CentralID, _ uuid: BluetoothUUID, offset: Int, token: UInt64, at now: MonotonicInstant
    ) {
        let (readNotPermitted, invalidOffset) = (UInt8(0x02), UInt8(0x07))
        guard central == session?.central, uuid == BottleProfile.draft.response, identity.profile.contains(.draft)
        else {
            return respond(token, .error(readNotPermitted))
        }
        if offset == 0, session?.subscriptions.contains(uuid) == false { nextPacket(at: now) }
        let value = session?.lastRead ?? []
        respond(token, offset <= value.count ? .value(Array(value.dropFirst(offset))) : .error(invalidOffset))
    }

    private mutating func nextPacket(at now: MonotonicInstant) {
        session?.lastRead = DrinkLogPackets.end
        while let next = session?.readable.first, next.notBefore <= now {
            session?.readable.removeFirst()
            session?.unacknowledged += next.outgoing.records
            guard !next.outgoing.value.isEmpty else { continue }
            session?.lastRead = next.outgoing.value
            return
        }
    }

    // MARK: Sending

    /// Queues values for notification, or in the draft profile for reads if the central has not subscribed.
    mutating func send(_ values: [OutgoingValue], at now: MonotonicInstant) {
        guard let session else { return }
        let characteristic = session.profile.response
        let waiting = values.map {
            Session.QueuedValue(
                outgoing: $0, characteristic: characteristic,
                notBefore: now.advanced(by: .milliseconds(plan[.slow]) + $0.delay))
        }
        if session.isSubscribed {
            guard session.outbox.count < Session.capacity else {
                return log("too many unsent responses to \(session.central): a response is dropped")
            }
            self.session?.outbox += waiting
        } else if session.profile == .draft, session.readable.count < Session.capacity {
            self.session?.readable += waiting
        } else {
            log("a response is dropped: \(session.central) has not subscribed to \(characteristic)")
        }
    }

    /// Queues a report before other values, so that it can interrupt a log transfer.
    mutating func report(_ frame: Frame) {
        guard let session, session.outbox.count < Session.capacity else { return }
        let position = session.outbox.firstIndex { $0.outgoing.kind != .report } ?? session.outbox.count
        for profile in identity.profile.profiles.reversed() where session.subscriptions.contains(profile.response) {
            let waiting = Session.QueuedValue(
                outgoing: OutgoingValue(value: frame.encoded, kind: .report), characteristic: profile.response,
                notBefore: session.since)
            self.session?.outbox.insert(waiting, at: position)
        }
    }

    /// Sends the next values that are due, one at a time.
    mutating func sendDueValues(at now: MonotonicInstant) {
        keepAlive(at: now)
        sendUnrequested(at: now)
        if let until = session?.confirmationDeadline, until <= now {
            session?.confirmationDeadline = nil
            log("no send confirmation within 30 s: sending the next notification")
        }
        randomBytes(at: now)
        while let session, session.confirmationDeadline == nil, let next = session.outbox.first,
            max(next.notBefore, session.earliestNext) <= now
        {
            self.session?.outbox.removeFirst()
            self.session?.unacknowledged += next.outgoing.records
            guard !next.outgoing.value.isEmpty else { continue }
            self.session?.notifications += 1
            guard session.notifications + 1 != dropAt else {
                self.session?.outbox = []
                self.session?.isEndless = false
                log("dropping the connection: fault 'hang-up', notification \(session.notifications + 1)")
                return emit(.link(.disconnect(session.central)))
            }
            self.session?.confirmationDeadline = now.advanced(by: Self.confirmationLimit)
            emit(.link(.notify(next.characteristic, value: next.outgoing.value)))
        }
    }

    /// The number of the notification that the disconnect fault replaces.
    private var dropAt: Int? {
        if plan[.hangUp] > 0 { return plan[.hangUp] }
        return plan[.hangUpOnce] > 0 && connections == plan[.refuse] + 1 ? plan[.hangUpOnce] : nil
    }

    private mutating func keepAlive(at now: MonotonicInstant) {
        guard let due = session?.keepAliveAt, due <= now else { return }
        session?.keepAliveAt = now.advanced(by: Self.keepAlivePeriod)
        emit(.link(.notify(BottleGATTTables.keepAlive, value: [0x01])))
    }

    private mutating func sendUnrequested(at now: MonotonicInstant) {
        guard let due = session?.unrequestedAt, due <= now else { return }
        session?.unrequestedAt = nil
        log("sending state and log without a request (quirk 'unasked')")
        sendState(at: now)
    }

    private mutating func randomBytes(at now: MonotonicInstant) {
        guard let session, session.isEndless, session.outbox.isEmpty, session.confirmationDeadline == nil,
            session.earliestNext <= now
        else { return }
        let pause = now.advanced(by: .milliseconds(max(5, plan[.gap])))
        self.session?.outbox.append(
            Session.QueuedValue(
                outgoing: OutgoingValue(value: injector.randomBytes(), kind: .randomBytes),
                characteristic: session.profile.response,
                notBefore: pause))
    }
}
