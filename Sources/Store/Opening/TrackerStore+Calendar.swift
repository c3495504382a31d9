import GRDB
import TrackerCore

extension TrackerStore {
    /// The day calendar that the settings ask for, in the given zone.
    func dayCalendar(_ zone: Zone, _ db: Database) throws -> DayCalendar {
        DayCalendar(zone: zone, boundaryHour: try SettingTable.settings(db).boundaryHour)
    }
}
