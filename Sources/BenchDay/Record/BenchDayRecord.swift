import Bluetooth
import BottleProtocol

/// All that a day with a bottle has shown, as data: what the findings are made of.
public struct BenchDayRecord: Hashable, Sendable {
    /// For people: `bluez:hci0`.
    public var link: String
    /// Whether the link finds peers by radio.
    public var hasRadio: Bool
    /// As it was seen first.
    public var advertisement: Advertisement?
    /// From the first look to the first sight.
    public var seenAfter: Duration?
    /// When it advertised, where a recording of the air shows it; since any beginning, ascending.
    public var advertised: [Duration] = []
    /// Its address, or the serial number that stands for it where there is no radio.
    public var identity: String?
    /// The name that the bottle showed.
    public var name: String?
    /// Of the first connection, once it was agreed on.
    public var mtu: Int?
    /// Of the first connection.
    public var services: [RemoteService] = []
    /// The profile that its table fits.
    public var profile: BottleProfile?
    /// In order of trying.
    public var steps: [DayStep] = []
    /// Known amounts that were drunk, in order.
    public var sips: [DaySip] = []
    /// What the person saw, by the question's word.
    public var seen: [String: Bool] = [:]
    /// What was left out, and why: a sentence each.
    public var omissions: [String] = []

    /// Of a day at that link, with nothing seen yet.
    public init(link: String, hasRadio: Bool) { (self.link, self.hasRadio) = (link, hasRadio) }

    /// What can notify and is nobody's of whom the law speaks: neither profile's response, nor the firmware's service
    /// (protocol law P1.1), nor the stack's own.
    var others: [RemoteCharacteristic] {
        let responses = Set(BottleProfile.allCases.map { BluetoothUUID($0.responseCharacteristic) })
        let firmware = BluetoothUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_1912)
        return services.filter { $0.uuid != firmware && $0.uuid != 0x1801 }.flatMap(\.characteristics).filter {
            !$0.properties.isDisjoint(with: [.notify, .indicate]) && !responses.contains($0.uuid)
        }
    }

    /// The characteristic that answers.
    var response: BluetoothUUID? { profile.map { BluetoothUUID($0.responseCharacteristic) } }

    /// The model, by snapshot or name.
    public var model: BottleModel? {
        snapshots.lazy.compactMap(\.snapshot.model).first ?? name.flatMap(BottleModel.init(advertisedName:))
    }

    /// Every snapshot that was asked for, with the step in which it came and the bytes that say it. A single answer
    /// with the battery reads as one, too.
    var snapshots: [(step: DayStep, after: Duration, frame: Frame, snapshot: Snapshot)] {
        steps.filter { $0.kind == .snapshot || $0.kind == .soon }.flatMap { step in
            step.answers(from: response).compactMap { value in
                guard let frame = try? Frame(decoding: value.bytes), let snapshot = try? Snapshot(decoding: frame)
                else { return nil }
                return (step, value.after, frame, snapshot)
            }
        }
    }
}

/// A known amount that was drunk.
public struct DaySip: Hashable, Sendable {
    /// As the person measured it, 1–2,000 ml.
    public var ml: Int
    /// This machine's wall clock when the person said so.
    public var at: BottleClock

    /// That amount, at that time by the bottle's clock.
    public init(ml: Int, at: BottleClock) { (self.ml, self.at) = (ml, at) }
}
