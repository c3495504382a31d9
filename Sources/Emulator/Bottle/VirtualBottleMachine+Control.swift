import BottleProtocol
import Bluetooth

/// What a person does to the bottle in hand: drinks, refills, charges, presses its button.
package enum ControlAction: Hashable, Sendable {
    case sip(ml: Int)
    case refill
    case battery(percent: Int)
    case charging(Bool)
    /// Sets the bottle's clock, as its owner's app would.
    case clock(BottleClock)
    /// Takes the power away: the clock starts at zero.
    case powerLoss
    /// Drops the connection.
    case drop
    /// Presses the button: confirms a registration, wakes the bottle otherwise.
    case press
    case status
}

/// What became of an action.
package enum ControlReply: Hashable, Sendable {
    case done(BottleStatus)
    /// Not done, and why.
    case refused(String)
}

/// The bottle as its owner sees it.
package struct BottleStatus: Hashable, Sendable {
    /// Who it is.
    package var identity: BottleIdentity
    /// Records waiting in the log.
    package var records: Int
    /// Records pushed out of the ring unseen.
    package var overwritten: Int
    /// Records acknowledged or cleared.
    package var dropped: Int
    /// Charge of its battery.
    package var batteryPercent: Int
    /// Whether it is on its cradle.
    package var charging: ChargingState
    /// What its clock shows.
    package var clock: BottleClock
    /// The daily goal that is set in it.
    package var goalMl: Int
    /// What it counts as drunk today.
    package var amountMl: Int
    /// Water that is in it.
    package var levelMl: Int
    /// When it reminds by itself; `nil`: it was never told.
    package var reminder: ReminderSetting?
    /// Its reminder light; `nil`: it was never told.
    package var light: ReminderLight?
    /// A host has been confirmed by its button.
    package var isRegistered: Bool
    /// How often the light blinked because somebody wrote settings.
    package var blinks: Int
    /// Connections since it was switched on.
    package var connections: Int
    /// Who is connected.
    package var central: CentralID?
    /// The ATT MTU of that connection.
    package var mtu: Int?
    /// Somebody hears its responses.
    package var isSubscribed: Bool
    /// Why nobody can see or reach it; `nil`: it is on the air.
    package var offAir: LinkError?
}

extension VirtualBottleMachine {
    /// Sips remembered to tell the next one apart.
    private static let recentSips = 64

    mutating func perform(_ action: ControlAction, at now: MonotonicInstant) -> ControlReply {
        switch action {
        case .sip(let ml):
            let limit = identity.dialect == .strict ? 255 : 65_535
            guard (0...limit).contains(ml) else {
                return .refused("A sip of \(ml) ml can not be written: the record holds 0 to \(limit) ml.")
            }
            sip(UInt16(ml), at: now)
        case .refill:
            change { $0.levelMl = BottleFlash.fullMl }
            reportSensors()
        case .battery(let percent):
            guard (0...100).contains(percent) else {
                return .refused("The battery holds 0 to 100 percent, not \(percent).")
            }
            change { $0.batteryPercent = UInt8(percent) }
            report(Frame(.report, [Entry(.battery, [UInt8(percent)])]))
        case .charging(let isOn):
            let state: ChargingState = !isOn ? .no : flash.batteryPercent == 100 ? .charged : .charging
            change { $0.charging = state.rawValue }
            report(Frame(.report, [Entry(.charging, [state.rawValue])]))
        case .clock(let clock):
            guard setClock(clock.encoded, at: now) else { return .refused("\(clock) is no date and time that exists.") }
        case .powerLoss:
            clock.losePower(at: now)
            change { _ in }
        case .drop:
            guard let central = session?.central else { return .refused("Nobody is connected.") }
            emit(.link(.disconnect(central)))
        case .press: press()
        case .status: break
        }
        return .done(status(at: now))
    }

    /// A bottle can not register two equal sips in one second, and nobody could tell them apart: the second one waits
    /// for the next.
    private mutating func sip(_ ml: UInt16, at now: MonotonicInstant) {
        func sip(_ wait: Int) -> BottleFlash.Sip {
            BottleFlash.Sip(second: clock.time(at: now.advanced(by: .seconds(wait))).milliseconds / 1000, ml: ml)
        }
        let wait = (0...Self.recentSips).first { !flash.recentSips.contains(sip($0)) } ?? 0
        let stamp = sip(wait)
        let reading = clock.reading(at: now.advanced(by: .seconds(wait)))
        let measuresWater = identity.model.measuresWater
        let record = DrinkRecord(
            yearByte: identity.dialect == .strict ? DrinkRecord.strictTypeByte : reading.yearByte, month: reading.month,
            day: reading.day,
            hour: reading.hour, minute: reading.minute, second: reading.second, amountMl: ml,
            tdsPpm: measuresWater ? flash.tdsPpm : 0,
            sensor: measuresWater ? (UInt8(bitPattern: flash.temperatureC), 0) : (1, flash.batteryPercent))
        let (amount, day) = (self.amount(at: now), clock.time(at: now).day)
        let capacity = plan.ring
        change { flash in
            flash.append(record.encoded, capacity: capacity)
            flash.recentSips = flash.recentSips.suffix(Self.recentSips - 1) + [stamp]
            flash.levelMl -= min(flash.levelMl, ml)
            flash.amountMl = UInt16(clamping: Int(amount) + Int(ml))
            flash.amountDay = day
        }
        reportSensors()
    }

    private mutating func reportSensors() {
        report(Frame(.report, [Entry(.level, flash.levelMl)]))
        guard identity.model.measuresWater else { return }
        report(Frame(.report, [Entry(.tds, flash.tdsPpm)]))
        report(Frame(.report, [Entry(.temperature, [UInt8(bitPattern: flash.temperatureC)])]))
    }

    private mutating func press() {
        guard registrationDeadline != nil else {
            report(Frame(.report, [Entry(.battery, [flash.batteryPercent])]))
            return reportSensors()
        }
        registrationDeadline = nil
        change { $0.isRegistered = true }
        report(Frame(.report, [Entry(.registration, [RegistrationCode.confirmed.rawValue])]))
    }

    /// The bottle as it is now.
    package func status(at now: MonotonicInstant) -> BottleStatus {
        BottleStatus(
            identity: identity, records: flash.records.count, overwritten: flash.overwritten, dropped: flash.dropped,
            batteryPercent: Int(flash.batteryPercent), charging: ChargingState(rawValue: flash.charging),
            clock: clock.reading(at: now),
            goalMl: Int(flash.goalMl), amountMl: Int(amount(at: now)), levelMl: Int(flash.levelMl),
            reminder: ReminderSetting(flash.reminder), light: ReminderLight(flash.light),
            isRegistered: flash.isRegistered, blinks: blinks,
            connections: connections, central: session?.central, mtu: session?.mtu,
            isSubscribed: identity.profile.profiles.contains { session?.subscriptions.contains($0.response) == true },
            offAir: offAir)
    }
}
