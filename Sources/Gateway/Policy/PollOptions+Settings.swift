import BottleProtocol
import TrackerCore

extension PollOptions {
    /// What a poll is to do by the settings of a store.
    /// - Parameter zone: the zone of days, where the settings name none for the bottle.
    public init(settings: Settings, zone: Zone) {
        self.init(zone: settings.bottleZone.flatMap { try? Zone($0) } ?? zone)
        dialect = BottleProtocol.RecordDialect(rawValue: settings.recordDialect.rawValue) ?? .calendar
        amountWidth = settings.amountWidth.flatMap { BottleProtocol.AmountWidth(rawValue: $0.rawValue) }
        alias = settings.bottleAlias
        maxRecordAgeDays = settings.maxRecordAgeDays
        limits.scan = .seconds(settings.scanTimeoutSeconds)
        limits.connect = .seconds(settings.connectTimeoutSeconds)
        limits.beforeRead = .seconds(settings.readDelaySeconds)
    }
}
