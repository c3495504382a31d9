import Bluetooth
import BottleProtocol
import TrackerCore

/// The task and the limits of one poll.
package struct PollOptions: Sendable {
    package enum Job: Hashable, Sendable {
        /// The sync of protocol spec P4.
        case poll
        /// Connect, send these commands one at a time, report the responses, disconnect.
        case send([HostCommand])
        /// Connect, identify the bottle, disconnect. Nothing else is read or written, and any bottle is accepted.
        case meet
        /// Only end the connection that an earlier poll kept.
        case letGo
        /// Scan for the whole scan time and report the bottles in range, without a connection.
        case scan
        /// Read the log and write nothing but the request for it. The store does not adopt the bottle.
        case look
    }

    package var job = Job.poll
    /// The bottle's address or name. `nil`: the first one found.
    package var bottle: String?
    /// The user's name for the bottle (`bottle.alias`); its records are stored under its identity.
    package var alias: String?
    /// The bottles of this store. If there are any and `bottle` is `nil`, the poll reads from and writes to no other
    /// bottle.
    package var own: [OwnBottle] = []
    /// Other bottles of this store, which have their own polls.
    package var others: [OwnBottle] = []
    /// How byte 0 of a record is read.
    package var dialect = BottleProtocol.RecordDialect.calendar
    /// The user has set the dialect for this poll: a bottle's own setting does not change it.
    package var isReadingNamed = false
    /// `nil`: as the dialect defines.
    package var amountWidth: BottleProtocol.AmountWidth?
    /// The zone of the bottle's clock.
    package var zone: Zone
    /// The zone of days, if `zone` is derived from it; `nil`: `zone` was set directly.
    package internal(set) var dayZone: Zone?
    /// Older records are kept as suspects; days, 1–360.
    package var maxRecordAgeDays = 180
    /// Identities of bottles that belong to other services on this machine: the poll skips them.
    package var elsewhere: Set<String> = []
    /// Do not acknowledge: the bottle keeps its log.
    package var keep = false
    /// The phone app uses the bottle, too: write nothing but the request for the log.
    package internal(set) var isSharing = false
    /// The drift from which the bottle's clock is set; `nil`: drift is only reported. Setting the clock makes the light
    /// blink, so small drift is ignored (protocol spec P3.6).
    package var correctClockBeyond: Duration? = .seconds(120)
    /// The operating system reports that a time server synchronises the host's clock, or the user has confirmed the
    /// time.
    package var isClockSynchronised = false
    /// The release date of this program. An earlier time of the host's clock is wrong.
    package var released = Instant(seconds: 0)
    /// The responses come from a recording of another day: see `answeredByRecording`.
    package private(set) var isRecording = false
    package var keepsConnection = false
    /// Goal and reminder, if the gateway is to manage them.
    package var settings: ManagedSettings?
    package var managesTodayAmount = true
    /// Show reminders with the bottle's light.
    package var managesLight = true
    /// The day's goal, for bottles that show it on their screen (`bottle.showGoal`).
    var dayGoalMl: Int?
    /// Allow power cycling of the adapter, which ends the connections of other programs.
    package var allowPowerCycle = false
    package var limits = PollLimits()
    package var history = PollHistory()

    /// A poll with the defaults, for a bottle whose clock uses this zone.
    package init(zone: Zone) {
        self.zone = zone
    }

    /// Marks the responses as a recording: they do not describe the current state of a bottle. Records count, dated by
    /// their own clock; the bottle is not adopted and gets no alias.
    package mutating func answeredByRecording() {
        isRecording = true
        (isClockSynchronised, correctClockBeyond) = (true, nil)
        (own, others, alias) = ([], [], nil)
        (settings, dayGoalMl, managesLight) = (nil, nil, false)
    }

    var keepsLog: Bool { keep || writesNothing }

    /// Write only the request for the log.
    var writesNothing: Bool { isSharing || job == .look }

    var resolver: RecordResolver { RecordResolver(zone: zone, maxAgeDays: maxRecordAgeDays) }
}

/// A bottle that belongs to the store.
package struct OwnBottle: Hashable, Sendable {
    /// Addresses, serial numbers and substitute identities. Empty if only an alias is known.
    package var identities: Set<String>
    /// Present and earlier aliases.
    package var aliases: Set<String>
    /// The present alias; `nil`: none.
    package var alias: String?
    /// The advertised name.
    package var advertisedName: String?
    /// The bottle's own settings; `nil`: the store's settings apply.
    package var settings: BottleSettings?
    /// When its first record was stored, milliseconds UTC; `nil`: no record yet.
    package var since: Int64?

    package init(
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

    /// Resolves a text that names a bottle: an alias becomes the bottle's address.
    package static func meant(_ text: String?, among own: [OwnBottle]) -> String? {
        guard let text, let bottle = own.first(where: { $0.aliases.contains(text) }) else { return text }
        return bottle.identities.sorted().first { BluetoothAddress($0) != nil } ?? bottle.identities.sorted().first
            ?? text
    }

    func answers(to identity: String, alias: String?) -> Bool {
        identities.contains(identity) || identities.isEmpty && alias.map(aliases.contains) == true
    }
}

/// Settings that the gateway writes to the bottle when they differ from the bottle's own.
package struct ManagedSettings: Hashable, Sendable {
    /// Daily goal, ml.
    package var goalMl: UInt16
    package var reminder: ReminderSetting?

    package init(goalMl: UInt16, reminder: ReminderSetting? = nil) {
        self.goalMl = goalMl
        self.reminder = reminder
    }
}

/// The time limits of a poll, each with its source, and its memory limits.
package struct PollLimits: Hashable, Sendable {
    /// Original requirement: scan time-out.
    package var scan = Duration.seconds(10)
    /// Original requirement: connect time-out.
    package var connect = Duration.seconds(5)
    /// Discovery of all services. About 1 s by radio; 30 s is the limit of one ATT transaction, and our total.
    package var discover = Duration.seconds(8)
    /// One read, write or subscription.
    package var request = Duration.seconds(3)
    /// Original requirement: from the draft command 01 to the first read of the response.
    package var beforeRead = Duration.milliseconds(500)
    /// Until a command without a response is sent again. Bottles ignore commands too soon after the subscription;
    /// owners space commands 0.5–1 s apart.
    package var answer = Duration.milliseconds(1000)
    /// For the user to press the bottle's button, if a command requires it.
    package var button = Duration.seconds(30)
    /// How often a command is sent before the poll gives up on its response.
    package var sendings = 3
    /// Silence within a log transfer after which the transfer counts as interrupted.
    package var silence = Duration.milliseconds(3000)
    /// Silence after a whole log frame that may be followed by another.
    package var linger = Duration.milliseconds(250)
    /// The same for links without a radio, where frames follow within a millisecond.
    package var lingerWithoutRadio = Duration.milliseconds(15)
    /// The whole poll without the time in which the log arrives; then the poll fails with "Bottle did not answer"
    /// (tracker spec A8).
    package var poll = Duration.seconds(30)
    /// The maximum time in one poll in which the log arrives: four readings of a log that takes 20 s.
    package var arrival = Duration.seconds(90)
    /// After that, the time to store and disconnect.
    package var closing = Duration.seconds(3)
    /// A real bottle stores about 500 records; a poll reads at most this many, then disconnects.
    package var records = 4096
    /// Notifications that are not part of a log: reports, responses, noise.
    package var notifications = 20_000
    /// Unreadable byte sequences kept in one poll; more are only counted.
    package var quarantined = 64
    /// Log requests on one connection.
    package var dumps = 16
    /// Of those, interrupted or damaged responses.
    package var flawedDumps = 6
    /// Connections in one poll.
    package var sessions = 5

    package init() {}
}

/// State that the service passes from poll to poll; empty for a single poll.
package struct PollHistory: Hashable, Sendable {
    /// Consecutive polls in which the scan found nothing.
    package var failedScans = 0
    /// The peer whose last session failed: the cached data of the operating system may be stale.
    package var suspectPeer: String?
    var unheededGoalMl: Int?

    package init() {}
}
