package import Bluetooth
package import BottleProtocol

/// A user's action on the emulated bottle, such as a drink or a press of the button.
package enum ControlAction: Hashable, Sendable {
    case sip(ml: Int)
    case refill
    case battery(percent: Int)
    case charging(Bool)
    case clock(BottleClock)
    /// Simulates a power loss: the bottle's clock restarts at zero.
    case powerLoss
    case drop
    /// Presses the button: confirms a registration, or wakes the bottle.
    case press
    case status
}

package enum ControlReply: Hashable, Sendable {
    case done(BottleStatus)
    case refused(String)
}

/// The state of the emulated bottle, for the control socket.
package struct BottleStatus: Hashable, Sendable {
    package var identity: BottleIdentity
    package var flash: BottleFlash
    package var clock: BottleClock
    /// Today's amount in millilitres.
    package var amountMl: Int
    package var blinks: Int
    package var connections: Int
    package var central: CentralID?
    package var mtu: Int?
    package var isSubscribed: Bool
    /// The reason why the bottle is not advertising; `nil` if it is.
    package var advertisingError: LinkError?
}

extension VirtualBottleMachine {
    /// The number of previous drinks from which a new drink must differ.
    private static let recentSips = 64

    mutating func perform(_ action: ControlAction, at now: MonotonicInstant) -> ControlReply {
        switch action {
        case .sip(let ml):
            let limit = identity.dialect == .strict ? 255 : 65_535
            guard (0...limit).contains(ml) else {
                return .refused("invalid sip \(ml) ml: expected 0–\(limit).")
            }
            sip(UInt16(ml), at: now)
        case .refill:
            change { $0.levelMl = BottleFlash.fullMl }
            reportSensors()
        case .battery(let percent):
            guard (0...100).contains(percent) else {
                return .refused("invalid battery \(percent) %: expected 0–100.")
            }
            change { $0.batteryPercent = UInt8(percent) }
            report(Frame(.report, [Entry(.battery, [UInt8(percent)])]))
        case .charging(let isOn):
            let state: ChargingState = !isOn ? .no : flash.batteryPercent == 100 ? .charged : .charging
            change { $0.charging = state.rawValue }
            report(Frame(.report, [Entry(.charging, [state.rawValue])]))
        case .clock(let clock):
            guard setClock(clock.encoded, at: now) else { return .refused("invalid date and time: \(clock).") }
        case .powerLoss:
            clock.losePower(at: now)
            change { _ in }
        case .drop:
            guard let central = session?.central else { return .refused("no central is connected.") }
            emit(.link(.disconnect(central)))
        case .press: press()
        case .status: break
        }
        return .done(status(at: now))
    }

    /// Records a drink. If an equal drink has the same second, the new one gets the next free second.
    private mutating func sip(_ ml: UInt16, at now: MonotonicInstant) {
        func sip(_ wait: Int) -> BottleFlash.Sip {
            BottleFlash.Sip(second: clock.time(at: now.advanced(by: .seconds(wait))).milliseconds / 1000, ml: ml)
        }
        let wait = (0...Self.recentSips).first { !flash.recentSips.contains(sip($0)) } ?? 0
        let newSip = sip(wait)
        var reading = clock.reading(at: now.advanced(by: .seconds(wait)))
        if identity.dialect == .strict { reading.yearByte = DrinkRecord.strictTypeByte }
        let measuresWater = identity.model.measuresWater
        let record = DrinkRecord(
            clock: reading, amountMl: ml, tdsPpm: measuresWater ? flash.tdsPpm : 0,
            sensor: measuresWater ? (UInt8(bitPattern: flash.temperatureC), 0) : (1, flash.batteryPercent))
        let (amount, day) = (self.amount(at: now), clock.time(at: now).day)
        let capacity = plan[.ring]
        change { flash in
            flash.append(record.raw, capacity: capacity)
            flash.recentSips = flash.recentSips.suffix(Self.recentSips - 1) + [newSip]
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

    package func status(at now: MonotonicInstant) -> BottleStatus {
        BottleStatus(
            identity: identity, flash: flash, clock: clock.reading(at: now), amountMl: Int(amount(at: now)),
            blinks: blinks, connections: connections, central: session?.central, mtu: session?.mtu,
            isSubscribed: identity.profile.profiles.contains { session?.subscriptions.contains($0.response) == true },
            advertisingError: advertisingError)
    }
}
