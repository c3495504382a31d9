import Bluetooth
import BottleProtocol
import TrackerCore

/// What one poll is to do, and within which limits.
public struct PollOptions: Sendable {
    /// What is done with the bottle.
    public enum Job: Hashable, Sendable {
        /// The polite sync of protocol law P4.
        case poll
        /// Connect, send these commands one by one, show the answers, disconnect.
        case send([HostCommand])
        /// Connect, find out who it is, disconnect: the bottle is asked for nothing else and told nothing, and whose it
        /// is does not matter.
        case meet
        /// Ends the connection that an earlier poll kept, and does nothing else.
        case letGo
    }

    /// What the poll is for.
    public var job = Job.poll
    /// The bottle meant: its address or its name. `nil`: the first one found.
    public var bottle: String?
    /// What a person calls it (`bottle.alias`); its drinks are kept under its own identity all the same.
    public var alias: String?
    /// The bottles of this store. Where there are any and none is named by `bottle`, no other one is drained or told
    /// anything.
    public var own: [OwnBottle] = []
    /// Bottles of this store that this poll is not for: they are nobody else's, and left to their own polls.
    public var others: [OwnBottle] = []
    /// How byte 0 of a record is read.
    public var dialect = BottleProtocol.RecordDialect.calendar
    /// A person named the dialect for this poll: no bottle's own setting changes it.
    public var isReadingNamed = false
    /// `nil`: what the dialect says.
    public var amountWidth: BottleProtocol.AmountWidth?
    /// The zone in which the bottle's clock is read and set.
    public var zone: Zone
    /// The zone of days, where the bottle's follows from it; `nil`: `zone` was named as it is.
    public internal(set) var dayZone: Zone?
    /// Records older than this are kept as suspects; days, 1–360.
    public var maxRecordAgeDays = 180
    /// Acknowledge nothing: the bottle keeps its log.
    public var keep = false
    /// Set the bottle's clock when it is off by more than this; `nil`: only report the drift. Setting it makes the
    /// light blink, so small drift is left alone (protocol law P3.6).
    public var correctClockBeyond: Duration? = .seconds(120)
    /// What this computer knew of its own clock when the poll began; `nil`: no more than its time.
    public var host: ClockMark?
    /// The host's clock is right, whatever store and bottle say: a person has looked.
    public var trustsClock = false
    /// A recording answers, of another day: see `answeredByRecording`.
    public private(set) var isRecording = false
    /// Stay connected where all went well: `HeldConnection`.
    public var keepsConnection = false
    /// Goal and reminder, where the owner wants the gateway to manage them.
    public var settings: ManagedSettings?
    /// Show the day's total on the bottle's screen, before and after the log, where somebody keeps one.
    public var managesTodayAmount = true
    /// Let the bottle's light show what it is to show, where somebody says.
    public var managesLight = true
    /// The day's goal, for bottles whose settings want it on their screen (`bottle.showGoal`).
    var dayGoalMl: Int?
    /// Allow the rung of the recovery ladder that disturbs everybody on the adapter.
    public var allowPowerCycle = false
    /// How long each step may take, and what bounds memory.
    public var limits = PollLimits()
    /// What earlier polls left behind.
    public var history = PollHistory()

    /// A poll with every default, of a bottle whose clock shows this zone.
    public init(zone: Zone) {
        self.zone = zone
    }

    /// What a recording answers says nothing of any bottle here and now: its records count, dated by its own clock, and
    /// it is nobody's, so that it neither becomes the store's own nor takes its alias.
    public mutating func answeredByRecording() {
        isRecording = true
        (trustsClock, correctClockBeyond) = (true, nil)
        (own, others, alias) = ([], [], nil)
        (settings, dayGoalMl, managesLight) = (nil, nil, false)
    }

    var resolver: RecordResolver { RecordResolver(zone: zone, maxAgeDays: maxRecordAgeDays) }
}

/// A bottle that belongs to the store.
public struct OwnBottle: Hashable, Sendable {
    /// Addresses, serial numbers and what stood in for them. Empty where it was only ever known by an alias.
    public var identities: Set<String>
    /// What people call it, and called it.
    public var aliases: Set<String>
    /// What of that they call it now; `nil`: nothing.
    public var alias: String?
    /// The name that it shows on the air.
    public var advertisedName: String?
    /// How it is read, where it has settings of its own; `nil`: as the store's settings say.
    public var settings: BottleSettings?
    /// When it brought the first of its records here, milliseconds UTC; `nil`: it brought none yet.
    public var since: Int64?

    public init(
        identities: Set<String>, aliases: Set<String> = [], alias: String? = nil, advertisedName: String? = nil,
        settings: BottleSettings? = nil, since: Int64? = nil
    ) {
        self.alias = alias
        self.settings = settings
        self.since = since
        self.identities = identities
        self.aliases = aliases
        self.advertisedName = advertisedName
    }

    /// Who is meant by a word that names a bottle: an alias means the bottle's address.
    public static func meant(_ text: String?, among own: [OwnBottle]) -> String? {
        guard let text, let bottle = own.first(where: { $0.aliases.contains(text) }) else { return text }
        return bottle.identities.sorted().first { BluetoothAddress($0) != nil } ?? bottle.identities.sorted().first
            ?? text
    }

    /// Whether somebody who shows this identity, and is called so, is this bottle.
    func answers(to identity: String, alias: String?) -> Bool {
        identities.contains(identity) || identities.isEmpty && alias.map(aliases.contains) == true
    }
}

/// Settings that the gateway writes to the bottle when they differ from what it says.
public struct ManagedSettings: Hashable, Sendable {
    /// Daily goal, ml.
    public var goalMl: UInt16
    /// When the bottle reminds by itself; `nil`: that is left alone.
    public var reminder: ReminderSetting?

    public init(goalMl: UInt16, reminder: ReminderSetting? = nil) {
        self.goalMl = goalMl
        self.reminder = reminder
    }
}

/// The time limits of a poll, each with its source; and what bounds its memory.
public struct PollLimits: Hashable, Sendable {
    /// Founding documents: scan time-out.
    public var scan = Duration.seconds(10)
    /// Founding documents: connect time-out.
    public var connect = Duration.seconds(5)
    /// Discovery of all services. Over radio about 1 s; 30 s is ATT's own limit for one transaction, and our whole
    /// budget.
    public var discover = Duration.seconds(8)
    /// One read, write or subscription.
    public var request = Duration.seconds(3)
    /// Founding documents: between the draft command 01 and the first read of the response.
    public var beforeRead = Duration.milliseconds(500)
    /// Until a command counts as ignored and is sent again: bottles ignore what comes too soon after the subscription,
    /// and owners space commands 0.5–1 s apart.
    public var answer = Duration.milliseconds(1000)
    /// For a person to press the bottle's button, where a command asks for it.
    public var button = Duration.seconds(30)
    /// How often a command is sent before its answer is given up.
    public var sendings = 3
    /// Silence in the middle of a log transfer after which it counts as broken off.
    public var silence = Duration.milliseconds(3000)
    /// Silence after a whole log frame that may be followed by another.
    public var linger = Duration.milliseconds(250)
    /// The same without a radio in between, where frames follow within a millisecond.
    public var lingerWithoutRadio = Duration.milliseconds(15)
    /// tracker law A8: the whole poll, then "Bottle did not answer".
    public var poll = Duration.seconds(30)
    /// After that, to store and disconnect.
    public var closing = Duration.seconds(3)
    /// A real bottle holds some 500 records; a poll takes this many and leaves politely.
    public var records = 4096
    /// Notifications that are no log: reports, answers, noise.
    public var notifications = 20_000
    /// Pieces of unreadable bytes kept in one poll; the rest is counted.
    public var quarantined = 64
    /// Dumps of the log asked for on one connection.
    public var dumps = 16
    /// Of those, dumps that broke off or were damaged.
    public var flawedDumps = 6
    /// Connections in one poll.
    public var sessions = 5

    /// Every limit at its default.
    public init() {}
}

/// What one poll leaves to the next, beside the journal: kept by the service, empty for a single poll.
public struct PollHistory: Hashable, Sendable {
    /// Polls in a row in which the scan found nothing.
    public var failedScans = 0
    /// The peer whose last session ended badly: the system's memory of it may be stale.
    public var suspectPeer: String?
    /// A goal that the bottle was told and did not take.
    var unheededGoalMl: Int?

    /// With nothing remembered.
    public init() {}
}
